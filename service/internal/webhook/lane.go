package webhook

import (
	"context"
	"sync"
	"time"
)

// Limits of one process for one endpoint.
const (
	laneWidth = 4                     // concurrent deliveries
	maxWait   = 2 * time.Second       // how long a delivery waits for one of them to end
	maxTurn   = 30 * time.Second      // how long it is postponed otherwise
	firstTook = 20 * time.Millisecond // assumed duration of a delivery before one was measured
)

// lanes keep the deliveries to one endpoint from blocking those to others. Only as
// many wait in a lane as it will soon have room for. The rest are postponed, each a
// little longer than the one before, at the rate of the lane.
type lanes struct {
	mu   sync.Mutex
	lane map[string]*lane // those in use, so no more than there are endpoints
}

// lane is the deliveries in progress to one endpoint.
type lane struct {
	places chan struct{} // one for each delivery in progress
	users  int           // deliveries in progress or waiting
	took   time.Duration // recent duration of a delivery
	left   time.Time     // when the last one ended, or the first came
	last   time.Time     // when the last postponed delivery comes back
}

func newLanes() *lanes { return &lanes{lane: map[string]*lane{}} }

// enter takes a place in the lane of an endpoint, or returns how long to postpone the
// delivery.
func (l *lanes) enter(ctx context.Context, endpoint string) (turn time.Duration) {
	n, turn := l.join(endpoint)
	if n == nil {
		return turn
	}
	patience := time.NewTimer(maxWait)
	defer patience.Stop()
	select {
	case n.places <- struct{}{}:
		return 0
	case <-patience.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n.users--
	if time.Since(n.left) >= maxWait {
		n.took = max(n.took, maxWait) // the current ones hang
	}
	return n.turn(time.Now())
}

// join adds a delivery to a lane if it will soon have room.
func (l *lanes) join(endpoint string) (*lane, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lane[endpoint]
	if n == nil {
		n = &lane{places: make(chan struct{}, laneWidth), took: firstTook, left: time.Now()}
		l.lane[endpoint] = n
	}
	if n.ahead() > maxWait {
		return nil, n.turn(time.Now())
	}
	n.users++
	return n, 0
}

// ahead is how long it will take until there is room for one more.
func (n *lane) ahead() time.Duration {
	return time.Duration(max(n.users-laneWidth+1, 0)) * n.took / laneWidth
}

// turn is how long to postpone a delivery.
func (n *lane) turn(now time.Time) time.Duration {
	turn := min(max(n.last.Sub(now), n.ahead())+n.took/laneWidth, maxTurn)
	n.last = now.Add(turn)
	return turn
}

// leave releases the place.
func (l *lanes) leave(endpoint string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lane[endpoint]
	<-n.places
	n.users--
	n.took += (took - n.took) / 4
	n.left = time.Now()
	if n.users == 0 && n.last.Before(n.left) {
		delete(l.lane, endpoint)
	}
}
