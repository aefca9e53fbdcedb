# Makes the coefficients of the device library: coefficients.py bessel|elementary > src/devlib/..._tables.inc. Needs mpmath.
# Standard error tells how exact each polynomial is (with coefficients rounded to double, evaluated exactly).
# SPDX-License-Identifier: Apache-2.0
from mpmath import mp, mpf, besselj, bessely, besseli, gamma, chebyfit, sqrt, pi, cos, sin, findroot, exp, log, polyval, atanh, taylor, binomial
import sys
mp.dps = 45
def cheb(f, a, b, n):
    """monomial coefficients in (x-(a+b)/2), lowest first, by Chebyshev interpolation"""
    c = (a+b)/2; h = (b-a)/2
    N = n+1
    # chebyshev coefficients
    xs = [cos(pi*(2*k+1)/(2*N)) for k in range(N)]
    fs = [f(c+h*x) for x in xs]
    co = [2/mpf(N)*sum(fs[k]*cos(pi*j*(2*k+1)/(2*N)) for k in range(N)) for j in range(N)]
    co[0] /= 2
    # to monomials in u
    T0=[mpf(1)]; T1=[mpf(0),mpf(1)]
    out=[mpf(0)]*N
    out[0]+=co[0]
    if N>1: out[1]+=co[1]
    for j in range(2,N):
        T2=[mpf(0)]+[2*t for t in T1]
        for i,t in enumerate(T0): T2[i]-=t
        T0,T1=T1,T2
        for i,t in enumerate(T2): out[i]+=co[j]*t
    return [o/h**i for i,o in enumerate(out)]
def hexf(x):
    return float(x).hex()
def row(name, cs):
    print(f"static const double {name}[] = {{")
    line="   "
    for c in cs:
        t=" "+hexf(c)+","
        if len(line)+len(t)>98: print(line); line="   "
        line+=t
    print(line); print("};")
def check(name,f,a,b,ev,rel=True):
    worst=0
    for i in range(400):
        x=a+(b-a)*mpf(i)/399
        v=f(x); e=abs(ev(x)-v)/(abs(v) if rel and v!=0 else 1)
        worst=max(worst,e)
    print(f"// {name}: {mp.nstr(worst,3)}",file=sys.stderr)


if sys.argv[1:] == ["bessel"]:
    print("""/* Coefficients for devlib's Bessel functions, made with arithmetic of 45 digits by Chebyshev interpolation
 * (bench/math_errors/coefficients.py). Lowest power first.
 * SPDX-License-Identifier: Apache-2.0 */""")
    # pieces on [.., 8]: (a, b, zero or None)
    DEG=20
    def pieces(name,f,bounds):
        rows=[]
        for a,b,z in bounds:
            a=mpf(a);b=mpf(b)
            if z is not None:
                z=findroot(f,mpf(z)); c=mpf(float(z)); lo=float(z-c)
                h=max(b-z,z-a); g=lambda x,z=z: f(x)/(x-z) if abs(x-z)>mpf(10)**-18 else mp.diff(f,z)
                cs=cheb(g,z-h,z+h,DEG)
                ev=lambda x: (x-z)*polyval([mpf(float(t)) for t in cs[::-1]],x-z)
            else:
                c=mpf(float((a+b)/2)); lo=0.0
                cs=cheb(f,a,b,DEG)
                ev=lambda x: polyval([mpf(float(t)) for t in cs[::-1]],x-c)
            check(f"{name} [{a},{b}] {z}",f,a+mpf('1e-6') ,b,ev)
            rows.append((float(b),float(c),lo,z is not None,cs))
        print(f"static const struct piece {name}[] = {{")
        for b,c,lo,z,cs in rows:
            print(f"    {{{b!r}, {c.hex()}, {float(lo).hex()}, {int(z)}, {{")
            line="       "
            for t in cs:
                t=" "+hexf(t)+","
                if len(line)+len(t)>98: print(line); line="       "
                line+=t
            print(line); print("    }},")
        print("};")
    j0=lambda x: besselj(0,x); j1=lambda x: besselj(1,x); y0=lambda x: bessely(0,x); y1=lambda x: bessely(1,x)
    # j1 near 0: j1(x)/x is even; treat [0,1] as zero piece at 0
    pieces('j0_pieces',j0,[(0,1,None),(1,'1.75',None),('1.75','3.1','2.4048'),('3.1','4.8',None),('4.8','6.2','5.52'),('6.2','7.2',None),('7.2','8.05',None)])
    # J1 zero at 0 handled by the piece with root 0
    def pj1(x): return j1(x)
    bounds=[(0,1,'Z'),(1,2,None),(2,3,None),(3,'4.6','3.83'),('4.6','6.3',None),('6.3','8.05','7.0156')]
    rows=[]
    _find=findroot
    def findroot(f,z):
        return mpf(0) if z==-1 else _find(f,z)
    bounds=[(a,b,(-1 if z=='Z' else z)) for a,b,z in bounds]
    pieces('j1_pieces',j1,bounds)
    pieces('y0_pieces',y0,[('0.5','0.7',None),('0.7','1.2','0.8936'),('1.2','2.2',None),('2.2','3.2',None),('3.2','4.7','3.9577'),('4.7','6.2',None),('6.2','8.05','7.086')])
    pieces('y1_pieces',y1,[('0.5','0.75',None),('0.75','1.15',None),('1.15','1.7',None),('1.7','2.8','2.197'),('2.8','3.7',None),('3.7','4.7',None),('4.7','6.2','5.4297'),('6.2','7.1',None),('7.1','8.05',None)])
    # far: P, Q of t=64/x^2 on [0,1]
    def PQ(nu):
        def pq(t):
            if t==0: return (mpf(1), mpf(4*nu*nu-1)/8)
            x=8/sqrt(t); chi=x-(nu*pi/2+pi/4); s=sqrt(pi*x/2)
            J=besselj(nu,x);Y=bessely(nu,x)
            return (s*(J*cos(chi)+Y*sin(chi)), x*s*(Y*cos(chi)-J*sin(chi)))
        return pq
    for nu in (0,1):
        p=PQ(nu)
        for k,n in ((0,'p'),(1,'q')):
            cs=cheb(lambda t:p(t)[k],mpf(0),mpf(1),13)
            check(f'{n}{nu}',lambda t:p(t)[k],mpf('0.001'),mpf(1),lambda t:polyval([mpf(float(c)) for c in cs[::-1]],t-mpf(1)/2))
            row(f'{n}{nu}_far',cs)
    # I: series coefficients in t = x^2/4, and far scaled sqrt(2 pi x) e^-x I on 1/x in [0,1/16]
    fac=mp.factorial
    row('i0_near',[1/fac(k)**2 for k in range(0,24)])
    row('i1_near',[1/(fac(k)*fac(k+1)) for k in range(0,24)])
    for nu in (0,1):
        f=lambda u: mpf(1) if u==0 else sqrt(2*pi/u)*exp(-1/u)*besseli(nu,1/u)
        cs=cheb(f,mpf(0),mpf(1)/16,12)
        check(f'i{nu}far',f,mpf('0.0005'),mpf(1)/16,lambda t:polyval([mpf(float(c)) for c in cs[::-1]],t-mpf(1)/32))
        row(f'i{nu}_far',cs)

        f=lambda u: sqrt(2*pi/u)*exp(-1/u)*besseli(nu,1/u)
        cs=cheb(f,mpf(1)/16,mpf(1)/8,16)
        check(f'i{nu}middle',f,mpf(1)/16,mpf(1)/8,lambda t:polyval([mpf(float(c)) for c in cs[::-1]],t-mpf(3)/32))
        row(f'i{nu}_middle',cs)

if sys.argv[1:] == ["elementary"]:
    print("""/* Coefficients for devlib's own elementary functions, made with arithmetic of 45 digits by Chebyshev interpolation
 * (bench/math_errors/coefficients.py). Lowest power first, around the middle of the interval unless it says otherwise.
 * SPDX-License-Identifier: Apache-2.0 */""")
    from mpmath import zeta, loggamma
    def around0(f,a,b,n):
        # interpolation on [a,b] in monomials of x itself
        cs=cheb(f,a,b,n); c=(a+b)/2
        # shift polynomial: p(x-c) -> coefficients in x
        out=[mpf(0)]*len(cs)
        for k,ck in enumerate(cs):
            for i in range(k+1):
                out[i]+=ck*binomial(k,i)*(-c)**(k-i)
        return out
    f=lambda x: gamma(x)
    cs=cheb(f,mpf(1),mpf(2),23); check('gamma',f,mpf(1),mpf(2),lambda x:polyval([mpf(float(c)) for c in cs[::-1]],x-mpf('1.5')))
    print("/* gamma on [1, 2] */"); row('gamma_near',cs)
    def st(u):
        if u==0: return mpf(1)
        x=1/u
        return exp(loggamma(x)-(x-mpf(1)/2)*log(x)+x)/sqrt(2*pi)
    cs=around0(st,mpf(0),mpf(1)/10,10); check('stirling',st,mpf('0.0001'),mpf('0.1'),lambda u:polyval([mpf(float(c)) for c in cs[::-1]],u))
    print("/* gamma(x) / (sqrt(2 pi) x^(x-1/2) e^-x) as a polynomial in 1/x itself, x >= 10 */"); row('gamma_far',cs)
    g=lambda z: mpf(2)/3 if z==0 else 2*(atanh(sqrt(z))/sqrt(z)-1)/z
    zm=mpf('0.0296')
    cs=around0(g,mpf(0),zm,7); check('log',g,mpf('1e-9'),zm,lambda z:polyval([mpf(float(c)) for c in cs[::-1]],z))
    print("/* (log((1+s)/(1-s)) - 2 s) / s^3 in s^2 itself */"); row('log_near',cs)
    cs=around0(g,mpf(0),zm,3); check('logf',g,mpf('1e-9'),zm,lambda z:polyval([mpf(float(c)) for c in cs[::-1]],z))
    print("/* the same for float: "+", ".join(mp.nstr(c,9) for c in cs)+" */")
    h=lambda r: mpf(1)/2 if abs(r)<mpf(10)**-12 else (exp(r)-1-r)/r**2
    cs=cheb(h,mpf('-0.35'),mpf('0.35'),12); check('exp',h,mpf('-0.35'),mpf('0.35'),lambda r:polyval([mpf(float(c)) for c in cs[::-1]],r))
    print("/* (e^r - 1 - r) / r^2, |r| <= 0.35 */"); row('exp_near',cs)
    l2=log(mpf(2)); 
    import math
    hi=mpf(math.floor(float(l2)*2**41))/2**41
    print("//",hexf(hi),hexf(l2-hi),file=sys.stderr)
