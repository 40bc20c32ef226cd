"""What people see of the snapshot on the web before they run anything: README, notebooks, a picture."""
