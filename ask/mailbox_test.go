package ask_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/ask"
)

// serve answers questions until the test ends.
func serve(t *testing.T, m *ask.Mailbox, answer func(ask.Question) ask.Answer) {
	t.Helper()
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			letters, err := m.Receive(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			for _, l := range letters {
				if err := m.Reply(ctx, l.ID, answer(l.Question)); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Millisecond) // another process asks: this is its clock, not the test's
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
}

// TestMailbox asks concurrently: each sender gets its own answer, and no files remain.
func TestMailbox(t *testing.T) {
	dir := t.TempDir()
	m := ask.NewMailbox(dir)
	serve(t, m, func(q ask.Question) ask.Answer {
		if q.Host == "bad" {
			return ask.Answer{Error: "no such host"}
		}
		return ask.Answer{Hosts: []ask.Host{{Host: q.Host, Pace: q.Delay}}}
	})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		wg.Go(func() {
			a, err := ask.NewMailbox(dir).Ask(t.Context(), ask.Question{Kind: ask.KindHosts, Host: name, Delay: ask.Seconds(1500 * time.Millisecond)})
			want := []ask.Host{{Host: name, Pace: ask.Seconds(1500 * time.Millisecond)}}
			if err != nil || !cmp.Equal(a.Hosts, want) {
				t.Errorf("%s: %+v, %v", name, a.Hosts, err)
			}
		})
	}
	wg.Wait()
	if _, err := m.Ask(t.Context(), ask.Question{Host: "bad"}); err == nil || err.Error() != "no such host" {
		t.Errorf("an answer that is an error: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "ask"))
	if err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// TestMailboxLog reads logged changes, also after a crash truncated the file.
func TestMailboxLog(t *testing.T) {
	dir := t.TempDir()
	m := ask.NewMailbox(dir)
	if list, err := m.Log(); err != nil || len(list) > 0 {
		t.Errorf("before anything was ordered: %v, %v", list, err)
	}
	want := ask.Change{At: time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC), By: "me", Order: ask.KindSlow, Host: "http://a.example", Before: "1s", After: "5s"}
	serve(t, m, func(ask.Question) ask.Answer { return ask.Answer{Change: &want} })
	for range 2 {
		if _, err := m.Ask(t.Context(), ask.Question{Kind: ask.KindSlow}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "control.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"at":"2026`); err != nil {
		t.Fatal(err)
	}
	list, err := m.Log()
	if diff := cmp.Diff([]ask.Change{want, want}, list); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestNoAnswer checks that ErrNoAnswer is returned at once if no crawl runs, or when the
// time is up or the crawl has ended.
func TestNoAnswer(t *testing.T) {
	dir := t.TempDir()
	m := ask.NewMailbox(dir)
	if _, err := m.Ask(t.Context(), ask.Question{}); !errors.Is(err, ask.ErrNoAnswer) {
		t.Errorf("without a mailbox: %v", err)
	}
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := m.Ask(ctx, ask.Question{}); !errors.Is(err, ask.ErrNoAnswer) {
		t.Errorf("no crawl reads the mailbox: %v", err)
	}
	if letters, err := m.Receive(t.Context()); len(letters) > 0 || err != nil {
		t.Errorf("a question that was given up is still there: %v, %v", letters, err)
	}
	go func() { _ = m.Close() }() // the result is checked below
	if _, err := m.Ask(t.Context(), ask.Question{}); !errors.Is(err, ask.ErrNoAnswer) {
		t.Errorf("it ended meanwhile: %v", err)
	}
}

// TestGarbage checks that invalid questions are answered and do no harm.
func TestGarbage(t *testing.T) {
	dir := t.TempDir()
	m := ask.NewMailbox(dir)
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"x.question.json": "{", "y.question.json": `{"kind":7}`, "z.answer.json": "{", "note.txt": "hello"} {
		if err := os.WriteFile(filepath.Join(dir, "ask", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if letters, err := m.Receive(t.Context()); len(letters) > 0 || err != nil {
		t.Errorf("%v, %v", letters, err)
	}
	for _, id := range []string{"x", "y"} {
		b, err := os.ReadFile(filepath.Join(dir, "ask", id+".answer.json"))
		if err != nil || !strings.Contains(string(b), "invalid request") {
			t.Errorf("%s: %s, %v", id, b, err)
		}
	}
}
