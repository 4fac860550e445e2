package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/store"
)

// mailWorld is a store with messages, and two workers that own half of the slots each.
type mailWorld struct {
	*world
	mail          store.Mail
	first, second *owner
}

func newMailWorld(t *testing.T, open Open) *mailWorld {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), store: open(t, t.TempDir(), nil), now: start}
	t.Cleanup(func() { w.store.Close() })
	mail, ok := w.store.(store.Mail)
	if !ok {
		t.Skip("not shared by workers: no messages")
	}
	return &mailWorld{w, mail, w.newOwner(store.SlotCount / 2), w.newOwner(store.SlotCount)}
}

func (w *mailWorld) post(l store.Message) store.MessageID {
	w.t.Helper()
	id, err := w.mail.Post(w.ctx, w.now, l)
	w.check(err)
	return id
}

// read returns the bodies of a worker's messages.
func (w *mailWorld) read(id store.WorkerID, at time.Time) string {
	w.t.Helper()
	list, err := w.mail.Messages(w.ctx, at, id)
	w.check(err)
	var text []string
	for _, l := range list {
		text = append(text, string(l.Body))
	}
	return strings.Join(text, " ")
}

func (w *mailWorld) reply(id store.WorkerID, l store.MessageID, body string) error {
	return w.mail.Reply(w.ctx, w.now, id, l, []byte(body))
}

func testMail(t *testing.T, open Open) {
	t.Run("to the owner of a slot", func(t *testing.T) {
		w := newMailWorld(t, open)
		first, second := w.first.id, w.second.id
		var lease store.Lease
		for _, lease = range w.first.leases {
			break
		}
		id := w.post(store.Message{Slot: lease.Slot, Body: []byte("why")})
		if got := w.read(second, w.now); got != "" {
			t.Errorf("another reads %q", got)
		}
		list, err := w.mail.Messages(w.ctx, w.now, first)
		if err != nil || len(list) != 1 || list[0].ID != id || list[0].All || list[0].Slot != lease.Slot || !list[0].At.Equal(w.now) {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := w.reply(second, id, "no"); !errors.Is(err, store.ErrFenced) {
			t.Errorf("answered by another: %v", err)
		}
		// The slot changes owner before the message is answered.
		w.check(w.store.Release(w.ctx, first, lease))
		_, err = w.store.Acquire(w.ctx, w.now, second, 1)
		w.check(err)
		if err := w.reply(first, id, "late"); !errors.Is(err, store.ErrFenced) {
			t.Errorf("answered by the owner before: %v", err)
		}
		if got := w.read(second, w.now); got != "why" {
			t.Errorf("the next owner reads %q", got)
		}
		for _, body := range []string{"because", "again"} { // the first reply is kept
			w.check(w.reply(second, id, body))
		}
		replies, err := w.mail.Replies(w.ctx, id)
		if err != nil || len(replies) != 1 || replies[0].Worker != second || string(replies[0].Body) != "because" || !replies[0].At.Equal(w.now) {
			t.Errorf("replies %+v, %v", replies, err)
		}
		w.check(w.store.Leave(w.ctx, second))
		_, err = w.store.Acquire(w.ctx, w.now, first, store.SlotCount)
		w.check(err)
		if got := w.read(first, w.now); got != "" {
			t.Errorf("asked again: %q", got)
		}
	})
	t.Run("to all workers", func(t *testing.T) {
		w := newMailWorld(t, open)
		first, second := w.first.id, w.second.id
		one, two := w.post(store.Message{All: true, Body: []byte("slow")}), w.post(store.Message{All: true, Body: []byte("hosts")})
		if one >= two {
			t.Errorf("messages %d and %d", one, two)
		}
		w.check(w.reply(second, one, ""))
		w.check(w.reply(first, one, "1"))
		for id, want := range map[store.WorkerID]string{first: "hosts", second: "hosts", second + 1: "slow hosts"} {
			if got := w.read(id, w.now); got != want {
				t.Errorf("worker %d reads %q, want %q", id, got, want)
			}
		}
		replies, err := w.mail.Replies(w.ctx, one)
		if err != nil || len(replies) != 2 || !slices.IsSortedFunc(replies, func(a, b store.Reply) int { return int(a.Worker - b.Worker) }) {
			t.Errorf("replies %+v, %v", replies, err)
		}
		if err := w.reply(second+1, one, ""); !errors.Is(err, store.ErrFenced) {
			t.Errorf("answered by nobody: %v", err)
		}
	})
	t.Run("messages expire", func(t *testing.T) {
		w := newMailWorld(t, open)
		id := w.post(store.Message{All: true, Body: []byte("old")})
		w.check(w.reply(w.first.id, id, "x"))
		later := w.now.Add(store.MessageTTL + time.Second)
		if got := w.read(w.second.id, later); got != "" {
			t.Errorf("read after its life: %q", got)
		}
		_, err := w.mail.Post(w.ctx, later, store.Message{All: true})
		w.check(err)
		w.gone(id)
	})
	t.Run("old messages are deleted", func(t *testing.T) {
		w := newMailWorld(t, open)
		for i := range store.MaxMessages + 20 {
			w.post(store.Message{All: true, Body: fmt.Append(nil, i)})
		}
		if got := strings.Fields(w.read(w.first.id, w.now)); len(got) != store.MaxMessageBatch || got[0] != "20" {
			t.Errorf("%d messages are read, from %s on", len(got), got[0])
		}
		for name, l := range map[string]store.Message{"too long": {All: true, Body: make([]byte, store.MaxMessageBytes+1)}, "no such slot": {Slot: store.SlotCount}} {
			if _, err := w.mail.Post(w.ctx, w.now, l); err == nil {
				t.Errorf("%s: posted", name)
			}
		}
		if err := w.mail.Reply(w.ctx, w.now, w.first.id, 1, make([]byte, store.MaxMessageBytes+1)); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("a long answer: %v", err)
		}
	})
	t.Run("withdrawn", func(t *testing.T) {
		w := newMailWorld(t, open)
		id := w.post(store.Message{All: true, Body: []byte("never mind")})
		w.check(w.reply(w.first.id, id, "x"))
		for range 2 {
			w.check(w.mail.Withdraw(w.ctx, id))
		}
		if got := w.read(w.second.id, w.now); got != "" {
			t.Errorf("read after it was taken back: %q", got)
		}
		w.gone(id)
	})
}

// gone expects that a message cannot be answered any more, and has no replies.
func (w *mailWorld) gone(id store.MessageID) {
	w.t.Helper()
	if err := w.reply(w.first.id, id, ""); !errors.Is(err, store.ErrNotFound) {
		w.t.Errorf("answered after it is gone: %v", err)
	}
	if replies, err := w.mail.Replies(w.ctx, id); err != nil || len(replies) != 0 {
		w.t.Errorf("replies %+v, %v", replies, err)
	}
}
