package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// died is the state of a host whose owner died.
func died(name string, at time.Time) HostState {
	return HostState{State: politeness.New(name), Died: at, Robots: RobotsState{Known: true, Ever: true}}
}

// TestWatchFirst counts the watched URLs of queues after a death.
func TestWatchFirst(t *testing.T) {
	const host = "https://a.example"
	tests := []struct {
		name string
		died time.Time
		want bool
	}{
		{"no death", time.Time{}, false},
		{"just now", start, true},
		{"some time ago", start.Add(-watchFor / 2), true},
		{"long ago", start.Add(-watchFor), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, Config{Head: 8}, plainJob(1), plainJob(2))
			r.states[host] = died(host, tt.died)
			fetch := func(id job.ID, most int) {
				n, want := 0, 0
				if tt.want {
					want = watchedFirst + 2*most
				}
				r.add(id, pages("a.example", want+10)...)
				for i := range want + 10 {
					r.pass(time.Second)
					req := r.one()
					switch req.Watched() {
					case true:
						if n++; n != i+1 {
							t.Fatalf("job %d: URL %d is watched, the one before was not", id, i+1)
						}
					case false:
						if n < want {
							t.Fatalf("job %d: URL %d is not watched", id, i+1)
						}
					}
					r.ok(req)
				}
				if n != want {
					t.Errorf("job %d: %d URLs watched, want %d", id, n, want)
				}
			}
			fetch(1, quick.Cap(politeness.New(host)))
			v, _ := r.f.View(host)
			fetch(2, quick.Cap(v.State)) // a queue that is created later
		})
	}
}

// TestWatchedPutBack watches a URL again that was put back, and a further one for each that
// was skipped.
func TestWatchedPutBack(t *testing.T) {
	const host = "https://a.example"
	r := newRig(t, Config{})
	r.states[host] = died(host, start)
	r.add(1, pages("a.example", 40)...)
	n := 0
	for i := range 40 {
		r.pass(time.Second)
		req := r.one()
		switch {
		case i == 0:
			r.f.PutBack(r.now, req)
			continue
		case i < 10:
			r.f.Skip(r.now, req)
			r.f.Committed(r.now, []Request{req})
			r.urlStore.end(1, req.Item.URL, visit.Skipped)
			continue
		case req.Watched():
			n++
		}
		r.ok(req)
	}
	if want := watchedFirst + 2*quick.Cap(politeness.New(host)); n != want {
		t.Errorf("%d requests were watched, want %d", n, want)
	}
}

// TestSuspectApart fetches suspects and watched URLs of several hosts: a suspect has no
// other of them beside it, and all of them end.
func TestSuspectApart(t *testing.T) {
	r := newRig(t, Config{Head: 4})
	var suspects []weburl.URL
	const hosts, each = 6, 12
	for i := range hosts {
		name := fmt.Sprintf("h%d.example", i)
		r.states["https://"+name] = died("https://"+name, start)
		list := pages(name, each)
		suspects = append(suspects, mustURL(list[0]), mustURL(list[each/2]))
		if i == 0 {
			r.f.Suspect(suspects)
		}
		r.add(1, list...)
	}
	r.f.Suspect(suspects)
	ended, under := 0, []Request{}
	for step := 0; ended < hosts*each; step++ {
		if step > 10*hosts*each {
			t.Fatalf("%d of %d ended%s", ended, hosts*each, r.describe())
		}
		under = append(under, r.next()...)
		var alone, watched int
		for _, req := range under {
			switch {
			case slices.Contains(suspects, req.Item.URL):
				alone++
			case req.Watched():
				watched++
			}
		}
		if alone > 1 || alone > 0 && watched > 0 {
			t.Fatalf("%d suspects and %d watched URLs at once", alone, watched)
		}
		if len(under) > 0 { // one at a time, so that others are in flight meanwhile
			ended++
			r.ok(under[0])
			under = under[1:]
		}
		r.pass(200 * time.Millisecond)
	}
	if !r.f.Idle() {
		t.Errorf("not idle%s", r.describe())
	}
}
