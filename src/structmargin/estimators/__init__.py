"""The scikit-learn front door: parameters stored untouched, everything learnt ends in an underscore.

`clone`, `cross_val_score`, `GridSearchCV` and `Pipeline` work, with `problem__name` for a problem's own
parameters. Outputs are structures, so there is no classifier mix-in: it would stratify folds by ragged
labels.
"""
