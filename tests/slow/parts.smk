rule all:
    input:
        "out/sum.txt",


rule part:
    input:
        "in/{n}.txt",
    output:
        "out/{n}.txt",
        directory("out/{n}"),
    log:
        "logs/{n}.log",
    shell:
        "for i in 1 2 3 4 5 6; do echo second $i; sleep 1; done > {log}; "
        "mkdir {output[1]}; rev {input} | tee {output[1]}/copy.txt > {output[0]}"


rule sum:
    input:
        expand("out/{n}.txt", n=range(6)),
    output:
        "out/sum.txt",
    threads: 2
    run:
        with open(output[0], "w") as file:
            file.write("".join(open(name).read() for name in input))
