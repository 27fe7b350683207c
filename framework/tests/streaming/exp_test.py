import os, time
import pytest
from collections import Counter
from streaming.generator import project
from streaming.given import given
from streaming.running import check, corners
from streaming.texts import sql
from streaming.shrinking import shrunk
from streaming.fixtures import text_of
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_x(bench):
    first=int(os.environ.get("FIRST","0")); n=int(os.environ.get("N","10"))
    seeds=[int(x) for x in os.environ["SEEDS"].split(",")] if "SEEDS" in os.environ else range(first,first+n)
    codes=Counter(); acc=q=mb=0
    t=time.time()
    for seed in seeds:
        p=project(seed); g=given(p,seed)
        t1=time.time()
        try: r=check(bench,p,g,corners(seed))
        except Exception as e:
            import traceback; traceback.print_exc(); print('#### seed',seed,'CRASH'); 
            for m in p.models: print('--',m.name); print(sql(p,m))
            continue
        if r.refused: codes.update(r.refused)
        else: acc+=1
        q+=r.queries; mb+=r.micro_batches
        print('seed',seed,len(p.models),r.refused,r.queries,r.micro_batches,round(time.time()-t1,1),'DIFF' if r.differences else '',flush=True)
        if r.differences:
            way=None
            if os.environ.get("SHRINK"):
                way=next(w for w in corners(seed) if any(d.startswith(str(w)) for d in r.differences))
                kind=lambda d: 'wrong' if 'missing' in d else d.split("\n")[1][:60].split(" ")[0:4] if "\n" in d else d[:30]
                first_=kind(next(d for d in r.differences if d.startswith(str(way))))
                def differs(p2,g2,w2):
                    try: r2=check(bench,p2,g2,[w2])
                    except Exception as e: return False
                    return any(kind(d)==first_ for d in r2.differences)
                p,g,way=shrunk(p,g,way,differs,int(os.environ["SHRINK"]))
                print("shrunk in",round(time.time()-t1,1))
                r=check(bench,p,g,[way])
            for m in p.models: print('--',m.name, m.test or ''); print(sql(p,m))
            print("\n".join(r.differences))
            if os.environ.get("SHRINK"):
                for k,v in g.items():
                    from streaming.shrinking import used
                    if k in used(p):
                        print(k); [print('   ',x.key,x.value) for x in v]
                print(bench.last.arrived)
                os.makedirs('/tmp/found',exist_ok=True); open(f'/tmp/found/{seed}.json','w').write(text_of("",p,g,[way]))
    print(n,acc,codes,q,mb,time.time()-t)
