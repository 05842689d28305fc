"""From audio to minibatches: data directories, features, CMVN, splicing, shards."""
