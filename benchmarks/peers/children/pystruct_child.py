"""Train pystruct on the chains of a folder; run by a Python that has it. Prints CPU seconds."""

import json
import sys
import time
from pathlib import Path

import numpy as np
from pystruct.learners import FrankWolfeSSVM, OneSlackSSVM
from pystruct.models import ChainCRF

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
ends = np.cumsum(np.load(folder / "lengths.npy"))[:-1]
X = np.split(np.load(folder / "tokens.npy"), ends)
Y = np.split(np.load(folder / "labels.npy").astype(int), ends)
model = ChainCRF(n_states=settings["L"], n_features=settings["D"], directed=True)
if settings["learner"] == "one_slack":
    learner = OneSlackSSVM(
        model, C=settings["C"], tol=settings["setting"], max_iter=10_000, inference_cache=50
    )
else:
    learner = FrankWolfeSSVM(model, C=settings["C"], max_iter=int(settings["setting"]), tol=1e-9)
began = time.process_time()
learner.fit(X, Y)
cpu = time.process_time() - began
np.save(folder / "w.npy", np.asarray(learner.w))
print(json.dumps({"cpu": cpu}))
