package api

import (
	"net"
	"net/http"
	"net/netip"
)

// checkOrigin keeps web pages from sending requests to the service through the browser of
// a visitor. Without keys the requested hostname must also be this
// machine's: any name can be made to resolve to it.
func (a *API) checkOrigin(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(CrossOrigin, "cross-origin request refused"))
	}))
	same := guard.Handler(next)
	if !a.anonymous {
		return same
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			writeProblem(w, newProblem(WrongHostname, "without keys this server only accepts loopback hostnames"))
			return
		}
		same.ServeHTTP(w, r)
	})
}

// isLoopback reports whether the host of a request is this machine.
func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
