package api

import (
	"net"
	"net/http"
	"net/netip"
)

// fromHere keeps web pages from speaking to the service through the browser of
// somebody who visits them. Without keys the name that was asked for must be this
// machine's, too: any name can be made to lead here.
func (a *API) fromHere(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, problem(http.StatusForbidden, "the request comes from a web page of another origin", "send it from a program, or from a page that the service itself serves"))
	}))
	same := guard.Handler(next)
	if !a.anonymous {
		return same
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			writeProblem(w, problem(http.StatusMisdirectedRequest, "this server answers to the names of this machine alone", "ask for 127.0.0.1 or localhost"))
			return
		}
		same.ServeHTTP(w, r)
	})
}

// isLoopback tells whether the host of a request is this machine.
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
