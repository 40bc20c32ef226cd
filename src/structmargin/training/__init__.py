"""What every solver is given and how it ends: the task, the search, the certificate, paths over C."""
