package crawl

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestNextSlack: the heap gets more room while collecting is dear, and loses it when it is
// cheap, within bounds.
func TestNextSlack(t *testing.T) {
	slack := leastSlack
	for range 20 {
		slack = nextSlack(slack, 0.3)
	}
	if slack != mostSlack {
		t.Errorf("%d per cent when collecting is dear, want %d", slack, mostSlack)
	}
	if got := nextSlack(slack, 0.07); got != slack {
		t.Errorf("%d per cent when it is neither, want %d", got, slack)
	}
	for range 20 {
		slack = nextSlack(slack, 0.01)
	}
	if slack != leastSlack {
		t.Errorf("%d per cent when it is cheap, want %d", slack, leastSlack)
	}
}

// TestCollectorShare: without a collection there is no new figure, and the heap keeps its room.
func TestCollectorShare(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var c collector
	runtime.GC()
	if share, ok := c.share(); !ok || share <= 0 {
		t.Errorf("share %v, known %v, after a collection", share, ok)
	}
	if share, ok := c.share(); ok {
		t.Errorf("share %v without a collection", share)
	}
}

// TestRoom: a large heap gets less than it may double to, but never less than leastSlack.
func TestRoom(t *testing.T) {
	for _, test := range []struct{ live, slack, want uint64 }{
		{100 << 20, 100, 100 << 20},
		{100 << 20, 50, 50 << 20},
		{300 << 20, 100, mostRoom},
		{1000 << 20, 100, 300 << 20},
		{1000 << 20, 30, 300 << 20},
	} {
		if got := room(test.live, test.slack); got != test.want {
			t.Errorf("room(%d, %d) = %d, want %d", test.live, test.slack, got, test.want)
		}
	}
}
