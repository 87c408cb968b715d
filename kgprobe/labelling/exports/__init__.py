"""Files for other tools, from knowledge labels: training sets, facts to retrieve, published results."""
