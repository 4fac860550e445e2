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

// domainOf is the domain of a host here: what follows its first dot.
func domainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}

// TestNext asks for hosts in order, so many at a time, and leaves those that we give up.
func TestNext(t *testing.T) {
	d := ownership.NewDomains()
	var hosts []string
	for i := range ownership.MaxLoad + 2 {
		hosts = append(hosts, fmt.Sprintf("www.%d.example", i))
	}
	d.Want(hosts)
	d.Give("0.example")
	if got := d.Next(domainOf); !slices.Equal(got, hosts[1:ownership.MaxLoad+1]) {
		t.Errorf("%d hosts from %q on", len(got), got[0])
	}
	d.Forget("0.example")
	if got := d.Next(domainOf); !slices.Equal(got, []string{hosts[0], hosts[ownership.MaxLoad+1]}) {
		t.Errorf("the rest is %q", got)
	}
	if got := d.Next(domainOf); len(got) > 0 || d.Busy() {
		t.Errorf("nothing is left, and %q is asked for", got)
	}
}

// TestDenied asks again for what others hold: soon, and less often where asking takes
// long.
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
			d.Ask()
			if !d.Busy() || !d.Asking() {
				t.Fatal("a question is under way, and it is not said")
			}
			d.Answered()
			d.Denied("www.a.example")
			d.Loaded(now, test.took, nil)
			at, ok := d.RetryAt()
			if !ok || at.Sub(now) != test.wait {
				t.Fatalf("asked again after %v, %v; should be %v", at.Sub(now), ok, test.wait)
			}
			if d.Retry(at.Add(-1)); len(d.Next(domainOf)) > 0 {
				t.Error("asked again too soon")
			}
			if d.Retry(at); len(d.Next(domainOf)) != 1 {
				t.Error("not asked again")
			}
		})
	}
}

// TestYield gives a domain up once nothing of it is under way, cleanly, and keeps one for
// a moment that we waited for.
func TestYield(t *testing.T) {
	d, now := ownership.NewDomains(), time.Unix(1, 0)
	d.BeginTurn(now, "a.example")
	if d.TurnOver(now.Add(999*time.Millisecond), "a.example") || !d.TurnOver(now.Add(time.Second), "a.example") || !d.TurnOver(now, "b.example") {
		t.Error("a turn lasts a second")
	}
	d.Quiet("a.example")
	if d.IsQuiet("a.example") || d.Yielding("a.example") {
		t.Error("a domain is given up that nobody wants")
	}
	if !d.Give("a.example") || d.Give("a.example") {
		t.Error("a domain is given up once")
	}
	if !d.Yielding("a.example") || d.IsQuiet("a.example") {
		t.Error("it is quiet before anybody said so")
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

// TestDoubt asks again for what was granted while the process was stopped, and remembers
// until it is granted once more.
func TestDoubt(t *testing.T) {
	d := ownership.NewDomains()
	d.Doubt([]string{"www.a.example"}, []string{"a.example"})
	if !d.Doubted("a.example") || !slices.Equal(d.Next(domainOf), []string{"www.a.example"}) {
		t.Error("not asked for again, or taken for sure")
	}
	if d.Loaded(time.Unix(1, 0), 0, []string{"a.example"}); d.Doubted("a.example") {
		t.Error("still doubted though it was granted again")
	}
}

// TestTell tells of each other process once, and again of one that has gone.
func TestTell(t *testing.T) {
	d := ownership.NewDomains()
	list := []store.Possession{{Domain: "a.example", Holder: store.Holder{PID: 1}}, {Domain: "b.example", Holder: store.Holder{PID: 1}}}
	if n := len(d.Tell(list)); n != 1 {
		t.Errorf("told of one process %d times", n)
	}
	if n := len(d.Tell(list)); n != 0 {
		t.Errorf("told of it %d times more", n)
	}
	if d.Untell(list); len(d.Tell(list)) != 1 {
		t.Error("not told of again")
	}
}

// TestWantedDue asks what others want twice a second.
func TestWantedDue(t *testing.T) {
	d, now := ownership.NewDomains(), time.Unix(1, 0)
	if !d.WantedDue(now) || d.WantedDue(now.Add(499*time.Millisecond)) || !d.WantedDue(now.Add(500*time.Millisecond)) {
		t.Error("not every half second")
	}
}
