package frontier

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/visit"
	"headway/weburl"
)

// TestEntryHoldsItem packs items and compares what is unpacked.
func TestEntryHoldsItem(t *testing.T) {
	plain := visit.Item{
		Job: 7, URL: mustURL("https://a.example/1?q"), Via: mustURL("https://a.example/"), Found: visit.FoundLink, Depth: 3, Priority: 4, Attempt: 2,
	}
	tests := []struct {
		name   string
		change func(*visit.Item)
		whole  bool // kept as a complete item
	}{
		{"a link", func(*visit.Item) {}, false},
		{"a seed", func(it *visit.Item) { it.Via, it.Found, it.Depth = weburl.URL{}, visit.FoundSeed, 0 }, false},
		{"found nowhere", func(it *visit.Item) { it.Found = "" }, false},
		{"found otherwise", func(it *visit.Item) { it.Found = "feed" }, true},
		{"deepest", func(it *visit.Item) { it.Depth = math.MaxUint16 }, false},
		{"too deep", func(it *visit.Item) { it.Depth = math.MaxUint16 + 1 }, true},
		{"negative depth", func(it *visit.Item) { it.Depth = -1 }, true},
		{"lowest priority", func(it *visit.Item) { it.Priority = math.MinInt8 }, false},
		{"too low a priority", func(it *visit.Item) { it.Priority = math.MinInt8 - 1 }, true},
		{"many attempts", func(it *visit.Item) { it.Attempt = math.MaxUint8 + 1 }, true},
		{"redirected", func(it *visit.Item) { it.Hops, it.Chain = 1, []uint64{5} }, true},
		{"for later", func(it *visit.Item) { it.NotBefore = start }, true},
		{"known from before", func(it *visit.Item) { it.Validators.ETag = `"x"` }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := New(Config{}, start)
			want := plain
			tt.change(&want)
			e := f.newEntry(&want, 0)
			if diff := cmp.Diff(want, e.item(7), cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if whole := e.beyond != nil && e.beyond.item != nil; whole != tt.whole {
				t.Errorf("kept as it is: %v, want %v", whole, tt.whole)
			}
			if !e.notBefore().Equal(want.NotBefore) {
				t.Errorf("not before %v, want %v", e.notBefore(), want.NotBefore)
			}
		})
	}
}

// TestEntriesOfAPageShare compares the entries of URLs of one page and of the next.
func TestEntriesOfAPageShare(t *testing.T) {
	f := New(Config{}, start)
	pack := func(raw, via string) *entry {
		return f.newEntry(&visit.Item{Job: 1, URL: mustURL(raw), Via: mustURL(via), Found: visit.FoundLink}, 0)
	}
	a, b, c := pack("https://a.example/1", "https://a.example/"), pack("https://b.example/", "https://a.example/"), pack("https://a.example/2", "https://b.example/")
	if a.beyond != b.beyond || b.beyond == c.beyond {
		t.Error("URLs share the page that named them, and no other")
	}
}

// TestTable compares a table with a map.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	hosts, want := newTable[host](), map[string]*host{}
	for range 20_000 {
		name := fmt.Sprint("https://", rng.IntN(3000))
		switch h := want[name]; {
		case h == nil:
			want[name] = &host{name: name}
			hosts.insert(want[name])
		case rng.IntN(3) == 0:
			delete(want, name)
			hosts.remove(h)
		}
		if other := fmt.Sprint("https://", rng.IntN(3000)); hosts.find(other) != want[other] {
			t.Fatalf("%s is found as %p, want %p", other, hosts.find(other), want[other])
		}
	}
	for name, h := range want {
		if hosts.find(name) != h {
			t.Errorf("%s is not found", name)
		}
	}
	longest := 0
	for _, h := range hosts.chains {
		n := 0
		for ; h != nil; h = h.next {
			n++
		}
		longest = max(longest, n)
	}
	if hosts.len() != len(want) || longest > 12 {
		t.Errorf("%d hosts, want %d; the longest chain has %d", hosts.len(), len(want), longest)
	}
}

// TestDeque compares a deque with a slice, and checks the memory it keeps.
func TestDeque(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var line deque
	var want []*host
	for step := range 20_000 {
		// It grows for a while, then shrinks.
		if rng.IntN(20_000) > step || len(want) == 0 {
			h := &host{number: uint64(step)}
			line.push(h)
			want = append(want, h)
		} else {
			i := rng.IntN(min(len(want), maxBypassed))
			if got := line.pop(i); got != want[i] {
				t.Fatalf("step %d: host %d came out, want %d", step, got.number, want[i].number)
			}
			want = slices.Delete(want, i, i+1)
		}
		if line.len() != len(want) || len(line.blocks) > len(want)/blockHosts+2 {
			t.Fatalf("step %d: %d hosts in %d blocks, want %d", step, line.len(), len(line.blocks), len(want))
		}
	}
	for i, h := range want {
		if line.at(i) != h {
			t.Errorf("host %d is in place %d, want %d", line.at(i).number, i, h.number)
		}
	}
}

// TestTick checks how long ago ticks were.
func TestTick(t *testing.T) {
	tests := []struct {
		name string
		ago  time.Duration
		want time.Duration
	}{
		{"now", 0, 0},
		{"a millisecond", time.Millisecond, time.Millisecond},
		{"a month", 30 * 24 * time.Hour, 30 * 24 * time.Hour},
		{"the clock was set back", -time.Second, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tickAt(start).since(start.Add(tt.ago)); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	if got := tick(0).since(start); got < 1000*time.Hour {
		t.Errorf("none was %v ago, want never", got)
	}
}
