package lab

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// controlPrefix is the prefix of control paths. They work on any host, known or not, and
// are never counted.
const controlPrefix = "/__lab/"

func isControl(path string) bool { return strings.HasPrefix(path, controlPrefix) }

// control serves the control paths.
func (l *Lab) control(w http.ResponseWriter, r *http.Request) {
	switch strings.TrimPrefix(r.URL.Path, controlPrefix) {
	case "stats": // ?summary=1 leaves the hosts out
		st := l.Stats()
		if r.URL.Query().Has("summary") {
			st.PerHost = nil
		}
		writeJSON(w, st)
	case "hosts":
		writeJSON(w, l.Hosts())
	case "log":
		writeJSON(w, l.Log())
	case "seeds": // one front page per host
		for _, seed := range l.Seeds() {
			fmt.Fprintln(w, seed)
		}
	case "reset":
		l.Reset()
		fmt.Fprintln(w, "ok")
	case "epoch": // change a share of the pages
		fmt.Fprintln(w, l.NextEpoch())
	case "ca.pem":
		pem, err := l.CertificatePEM()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/x-pem-file")
		w.Write(pem)
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	// Our own data always encodes; a client that disconnected does not matter.
	_ = enc.Encode(v)
}
