# shellcheck shell=bash
# How jobs are started; source it after path.sh. run.pl runs them on this machine, as many at once as it has cores;
# slurm.pl and queue.pl submit them to SLURM and to Grid Engine, with the same options, for example
#   train_cmd="slurm.pl --mem 4G"   cuda_cmd="slurm.pl --gpu 1 --mem 16G"   (partitions: conf/slurm.conf)
# A variable that is set already keeps its value:  train_cmd="slurm.pl --mem 4G" ./run.sh
export train_cmd=${train_cmd:-run.pl}
export decode_cmd=${decode_cmd:-run.pl}
export cuda_cmd=${cuda_cmd:-run.pl}
