rule all:
    input:
        expand("out/{n}.txt", n=range(3)),


rule gpu:
    output:
        "out/{n}.txt",
    resources:
        gpu=1,
    shell:
        "date +%s.%N > {output}; sleep 4; date +%s.%N >> {output}; "
        "echo $CUDA_VISIBLE_DEVICES >> {output}"
