"""Terms that programmers use for one another: what a question says and what code is named.

Each is a stem as `terms` makes it. A related term counts less than the one that was asked for.
"""

RELATED_WEIGHT = 0.4

_GROUPS = """
return get | retriev get | fetch get | remov delet | delet remov | creat make new build
construct new build | make creat | convert to | check is has | whether is has | determin is
initi init | initialis init | configur config | messag msg | context ctx | argument arg
paramet param | directori dir | string str | document doc | number num | address addr
request req | respons resp res | error err | connect conn | regist add | append add | updat set
set updat | render draw | pars from | handl on | call invok | invok call | start begin
stop end | close shutdown | abort cancel | cancel abort | valu val | function fn func
synchron sync | asynchron async | express expr | current cur | previous prev | index idx
buffer buf | posit pos | length len | size len | column col | send write | receiv recv read
command cmd | environ env | specif spec | attribut attr | properti prop | refer ref
temporari tmp | sourc src | destin dst | maximum max | minimum min | identifi id
authent auth | author auth | generat gen | variabl var | equal eq | compar cmp
calcul comput | comput calcul | find search | notifi emit | schedul queue | wait await
"""


def _related() -> dict[str, tuple[str, ...]]:
    groups = (group.split() for line in _GROUPS.strip().splitlines() for group in line.split("|"))
    return {first: tuple(rest) for first, *rest in groups}


RELATED = _related()
