package parse

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"headway/lab"
	"headway/weburl"
)

// labPage is a page of the lab as a crawler receives it.
type labPage struct {
	url    weburl.URL
	status int
	header http.Header
	body   []byte
}

func (p labPage) answer() Answer {
	return Answer{URL: p.url, Status: p.status, Header: p.header, Body: p.body}
}

// labGet requests a page of a lab without a network.
func labGet(t testing.TB, h http.Handler, address string) labPage {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return labPage{mustParse(address), w.Code, w.Header(), w.Body.Bytes()}
}

// labPages is 200 pages of one host, found by following its links.
var labPages = sync.OnceValue(func() []labPage {
	const want = 200
	t := new(testing.B) // labGet cannot fail for a URL of the lab
	l, err := lab.New(lab.Config{Seed: 1, Hosts: lab.Uniform(2, lab.Plain())})
	if err != nil {
		panic(err)
	}
	front := l.Hosts()[0].URL
	queue, seen := []string{front}, map[string]bool{front: true}
	var pages []labPage
	for len(pages) < want && len(queue) > 0 {
		p := labGet(t, l.Handler(), queue[0])
		queue = queue[1:]
		if p.status != http.StatusOK {
			continue
		}
		pages = append(pages, p)
		bareLinks(p.body, p.url.String(), func(u *url.URL) {
			if s := u.String(); strings.HasPrefix(s, front) && !seen[s] {
				seen[s] = true
				queue = append(queue, s)
			}
		})
	}
	if len(pages) < want {
		panic("the lab has too few pages")
	}
	return pages
})
