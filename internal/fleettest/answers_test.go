package fleettest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// promptly is how long a query to a fleet may take if one of its workers is dead,
// including the start of the command under a race detector on two busy cores.
const promptly = 2*time.Second + 2*time.Second

// question runs a command, which must end in time, and reads its output.
func (f *fleet) question(into any, args ...string) {
	f.Helper()
	began := time.Now()
	out := f.run(append(args, "--json")...)
	took := time.Since(began)
	stood := f.stalls.Between(began, began.Add(took))
	f.Logf("%v took %v, in which the machine stalled for %v", args, took, stood)
	if took-stood > promptly {
		f.Errorf("%v took longer than %v", args, promptly)
	}
	if err := json.Unmarshal(out, into); err != nil {
		f.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// member is a worker in `headway admin workers --json`.
type member struct {
	Worker int64 `json:"id"`
	Slots  int   `json:"slots"`
	Said   *struct {
		Jobs []int64 `json:"jobs"`
	} `json:"said"`
}

func (f *fleet) members() []member {
	f.Helper()
	var a struct {
		Workers []member `json:"workers"`
	}
	f.question(&a, "admin", "workers")
	return a.Workers
}

// until waits at most a minute for a condition that other processes bring about, not
// counting stalls of the machine.
func (f *fleet) until(what string, is func() bool) {
	f.Helper()
	// Other processes report nothing here, so it is polled.
	for began := time.Now(); !is(); time.Sleep(200 * time.Millisecond) {
		if now := time.Now(); now.Sub(began)-f.stalls.Between(began, now) > time.Minute {
			f.Fatalf("not after a minute: %s", what)
		}
	}
}

// TestAnswers runs why, slow and hosts on a fleet of two workers, slows a host, kills
// its owner, and drains the other worker.
func TestAnswers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 6, pages: 400}) // more than are fetched meanwhile
	f.list()                                      // creates the tables, which takes longer than a query
	owner := f.start()
	var first int64
	f.until("a worker", func() bool {
		list := f.members()
		if len(list) != 1 {
			return false
		}
		first = list[0].Worker
		return true
	})
	f.start()
	id := strconv.FormatInt(f.submit(), 10)
	f.until("both at work", func() bool {
		list := f.members()
		return len(list) == 2 && list[0].Slots == list[1].Slots && list[0].Said != nil && list[1].Said != nil && len(list[0].Said.Jobs)+len(list[1].Said.Jobs) == 2
	})

	type host struct {
		Host   string  `json:"host"`
		State  string  `json:"state"`
		Source string  `json:"source"`
		Pace   float64 `json:"pace_seconds"`
	}
	hosts := func() map[string]host {
		t.Helper()
		var a struct {
			Running bool   `json:"running"`
			Hosts   []host `json:"hosts"`
		}
		f.question(&a, "job", "hosts", id)
		list := map[string]host{}
		for _, h := range a.Hosts {
			list[h.Host] = h
		}
		if !a.Running || len(list) != f.hosts {
			t.Errorf("%d hosts: %+v", len(list), a)
		}
		return list
	}
	f.until("every host has a state", func() bool {
		for _, h := range hosts() {
			if h.State == "" {
				return false
			}
		}
		return true
	})

	var slow struct {
		Running bool   `json:"running"`
		Change  string `json:"change"`
		Now     struct {
			State string `json:"state"`
			Hosts int    `json:"hosts"`
		} `json:"now"`
		Parts []struct {
			Part float64 `json:"part"`
		} `json:"parts"`
	}
	f.until("most hosts wait for their pace", func() bool {
		f.question(&slow, "job", "slow", id)
		return slow.Now.State == "pace"
	})
	sum := 0.0
	for _, p := range slow.Parts {
		sum += p.Part
	}
	if !slow.Running || slow.Now.Hosts == 0 || slow.Now.Hosts > f.hosts || sum < 0.999 || sum > 1.001 {
		t.Errorf("slow: %+v", slow)
	}

	var why struct {
		Seen    bool   `json:"seen"`
		Outcome string `json:"outcome"`
		Crawl   struct {
			Running bool `json:"running"`
		} `json:"crawl"`
	}
	f.until("a page", func() bool {
		f.question(&why, "job", "why", id, f.lab.Seeds()[0])
		return why.Outcome == "fetched"
	})
	if !why.Seen || !why.Crawl.Running {
		t.Errorf("why: %+v", why)
	}

	// A host of the first worker is slowed, and the worker killed.
	var change struct {
		Worker int64  `json:"worker"`
		Host   string `json:"host"`
		After  string `json:"after"`
	}
	for name := range hosts() {
		f.question(&change, "host", "slow", name, "4s")
		if change.Worker == first {
			break
		}
		f.question(&change, "host", "slow", name, "0")
	}
	if change.Worker != first || !strings.Contains(change.After, "operator minimum 4s") {
		t.Fatalf("no host is the first worker's: %+v", change)
	}
	f.kill(owner)
	f.until("its next owner", func() bool {
		list := f.members()
		return len(list) == 1 && list[0].Slots == 1024
	})
	f.until("the host has an owner", func() bool { return hosts()[change.Host].State != "" })
	if h := hosts()[change.Host]; h.Source != "operator" || h.Pace != 4 {
		t.Errorf("the next owner of %s says %+v", change.Host, h)
	}
	before := f.requestsTo(change.Host)
	time.Sleep(9 * time.Second) // longer than the pace of the host
	if n := f.requestsTo(change.Host) - before; n < 1 || n > 3 {
		t.Errorf("%d requests in 9 s at an interval of 4 s", n)
	}

	var everywhere struct {
		Hosts []host `json:"hosts"`
	}
	if f.question(&everywhere, "hosts"); len(everywhere.Hosts) != f.hosts {
		t.Errorf("hosts of the fleet: %+v", everywhere)
	}

	var slots struct {
		Slots  int `json:"slots"`
		Free   int `json:"free"`
		Owners []struct {
			Slots int `json:"slots"`
		} `json:"owners"`
	}
	f.question(&slots, "admin", "slots")
	if slots.Slots != 1024 || slots.Free != 0 || len(slots.Owners) != 1 || slots.Owners[0].Slots != 1024 {
		t.Errorf("slots: %+v", slots)
	}

	// The other worker is drained. The state of a job without workers is read from the
	// store.
	last := f.workers[0]
	f.run("job", "cancel", id)
	f.run("admin", "drain", fmt.Sprint(f.members()[0].Worker))
	f.awaitExit(last, 20*time.Second)
	if last.err != nil {
		t.Errorf("a worker that was drained: %v\n%s", last.err, last.errs)
	}
	f.question(&why, "job", "why", id, f.lab.Seeds()[0])
	if !why.Seen || why.Crawl.Running || why.Outcome != "fetched" {
		t.Errorf("why, without a worker: %+v", why)
	}
	f.run("job", "slow", id)
	var orders []string
	f.sql(func(conn *pgx.Conn) error {
		rows, err := conn.Query(f.Context(), "select what from control where who <> '' and before <> after order by id")
		if err == nil {
			orders, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	if n := len(orders); n < 4 || orders[0] != "set-safety" || orders[1] != "slow" || orders[n-2] != "cancel" || orders[n-1] != "drain" {
		t.Errorf("orders in the log: %v", orders)
	}
	f.paced()
}

// requestsTo counts the requests to a host that the lab saw.
func (f *fleet) requestsTo(host string) (n int) {
	f.Helper()
	for _, r := range f.arrivals() {
		if r.host == host {
			n++
		}
	}
	return n
}
