like h200
kernel a
