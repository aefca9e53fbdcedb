like h200
kernel a 1 0
