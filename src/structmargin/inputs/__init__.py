"""What people bring, checked and converted in one place: containers, matrices, labels and named features."""
