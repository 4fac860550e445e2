package ownership_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/internal/ownership"
	"headway/store"
)

// domainOf is the domain of a test host: what follows its first dot.
func domainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}

// TestNext loads hosts in order, a limited number at a time, except those being handed
// over.
func TestNext(t *testing.T) {
	d := ownership.NewDomains()
	var hosts []string
	for i := range ownership.MaxLoad + 2 {
		hosts = append(hosts, fmt.Sprintf("www.%d.example", i))
	}
	d.Want(hosts)
	d.StartYield("0.example")
	if got := d.Next(domainOf); !slices.Equal(got, hosts[1:ownership.MaxLoad+1]) {
		t.Errorf("%d hosts from %q on", len(got), got[0])
	}
	d.Forget("0.example")
	if got := d.Next(domainOf); !slices.Equal(got, []string{hosts[0], hosts[ownership.MaxLoad+1]}) {
		t.Errorf("the rest is %q", got)
	}
	if got := d.Next(domainOf); len(got) > 0 || d.Busy() {
		t.Errorf("nothing is left, but %q is loaded", got)
	}
}

// TestDenied polls for hosts that others hold: often, but less often if a query takes long.
func TestDenied(t *testing.T) {
	for name, test := range map[string]struct{ took, wait time.Duration }{
		"quick": {time.Millisecond, 20 * time.Millisecond},
		"slow":  {10 * time.Millisecond, 50 * time.Millisecond},
		"stuck": {time.Minute, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			d, now := ownership.NewDomains(), time.Unix(1, 0)
			d.Want([]string{"www.a.example"})
			d.Next(domainOf)
			d.StartQuery()
			if !d.Busy() || !d.Querying() {
				t.Fatal("a question is under way, and it is not said")
			}
			d.EndQuery()
			d.Denied("www.a.example")
			d.Loaded(now, test.took, nil)
			at, ok := d.RetryAt()
			if !ok || at.Sub(now) != test.wait {
				t.Fatalf("retry after %v, %v; should be %v", at.Sub(now), ok, test.wait)
			}
			if d.Retry(at.Add(-1)); len(d.Next(domainOf)) > 0 {
				t.Error("retried too soon")
			}
			if d.Retry(at); len(d.Next(domainOf)) != 1 {
				t.Error("not retried")
			}
		})
	}
}

// TestYield hands a domain over cleanly once it has no requests under way, and keeps a
// newly acquired one for the minimum time.
func TestYield(t *testing.T) {
	d, now := ownership.NewDomains(), time.Unix(1, 0)
	d.BeginTurn(now, "a.example")
	if d.TurnOver(now.Add(999*time.Millisecond), "a.example") || !d.TurnOver(now.Add(time.Second), "a.example") || !d.TurnOver(now, "b.example") {
		t.Error("a turn lasts a second")
	}
	d.Quiet("a.example")
	if d.IsQuiet("a.example") || d.Yielding("a.example") {
		t.Error("an unwanted domain is handed over")
	}
	if !d.StartYield("a.example") || d.StartYield("a.example") {
		t.Error("a domain is given up once")
	}
	if !d.Yielding("a.example") || d.IsQuiet("a.example") {
		t.Error("it is quiet before Quiet was called")
	}
	if d.Quiet("a.example"); !d.IsQuiet("a.example") || !d.Yields()["a.example"] {
		t.Error("it is not quiet though nothing is under way")
	}
	if d.Clean("a.example") {
		t.Error("handed over before it was")
	}
	d.Yielded([]string{"a.example"})
	if !d.Clean("a.example") || d.Yielding("a.example") || !d.TurnOver(now, "a.example") {
		t.Error("it was handed over, and that is not known")
	}
}

// TestDoubt loads hosts again that were granted while the process was suspended, and keeps
// the doubt until they are granted again.
func TestDoubt(t *testing.T) {
	d := ownership.NewDomains()
	d.Doubt([]string{"www.a.example"}, []string{"a.example"})
	if !d.Doubted("a.example") || !slices.Equal(d.Next(domainOf), []string{"www.a.example"}) {
		t.Error("not wanted again, or not doubted")
	}
	if d.Loaded(time.Unix(1, 0), 0, []string{"a.example"}); d.Doubted("a.example") {
		t.Error("still doubted though it was granted again")
	}
}

// TestUnreported reports each other process once, and again after it was forgotten.
func TestUnreported(t *testing.T) {
	d := ownership.NewDomains()
	list := []store.Possession{{Domain: "a.example", Holder: store.Holder{PID: 1}}, {Domain: "b.example", Holder: store.Holder{PID: 1}}}
	if n := len(d.Unreported(list)); n != 1 {
		t.Errorf("reported one process %d times", n)
	}
	if n := len(d.Unreported(list)); n != 0 {
		t.Errorf("reported it %d times more", n)
	}
	if d.ForgetReported(list); len(d.Unreported(list)) != 1 {
		t.Error("not reported again")
	}
}

// TestWantedDue checks what others want twice a second.
func TestWantedDue(t *testing.T) {
	d, now := ownership.NewDomains(), time.Unix(1, 0)
	if !d.WantedDue(now) || d.WantedDue(now.Add(499*time.Millisecond)) || !d.WantedDue(now.Add(500*time.Millisecond)) {
		t.Error("not every half second")
	}
}
