package lab

import (
	"strings"
	"sync"
	"time"
)

// Request is one line of the lab's log.
type Request struct {
	Start  time.Time `json:"start"`  // when the request arrived
	Answer time.Time `json:"answer"` // when its response began, or it ended without one
	Host   string    `json:"host"`   // base URL
	Method string    `json:"method"`
	Target string    `json:"target"` // path and query
	Status int       `json:"status"` // 0: no response
}

// requestLog keeps the last requests.
type requestLog struct {
	size int

	mu   sync.Mutex
	ring []Request
	next int // position of the oldest in a full ring
}

func (l *requestLog) add(x *exchange, now time.Time) {
	if l.size == 0 {
		return
	}
	line := Request{
		Start: x.started, Answer: now, Host: x.host.base,
		Method: x.req.Method, Target: x.req.RequestURI, Status: x.status,
	}
	if !strings.HasPrefix(line.Target, "/") { // a proxy request contains the full URL
		line.Target = x.req.URL.RequestURI()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < l.size {
		l.ring = append(l.ring, line)
		return
	}
	l.ring[l.next] = line
	l.next = (l.next + 1) % l.size
}

// list copies the log, oldest first.
func (l *requestLog) list() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(append([]Request(nil), l.ring[l.next:]...), l.ring[:l.next]...)
}
