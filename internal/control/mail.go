package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"headway/ask"
	"headway/store"
)

// messages receives the messages of a worker of a fleet from the store: those to the owner
// of a slot, and those to all workers.
type messages struct {
	store  store.Mail
	worker store.WorkerID
	now    func() time.Time
}

// Receive implements [ask.Mail]. A message that cannot be parsed is answered here.
func (l *messages) Receive(ctx context.Context) ([]ask.Message, error) {
	list, err := l.store.Messages(ctx, l.now(), l.worker)
	if err != nil {
		return nil, err
	}
	var read []ask.Message
	for _, x := range list {
		a := ask.Message{ID: strconv.FormatInt(int64(x.ID), 10)}
		if err := json.Unmarshal(x.Body, &a.Question); err != nil {
			if err := l.Reply(ctx, a.ID, ask.Answer{Error: fmt.Sprintf("invalid request: %v", err)}); err != nil {
				return read, err
			}
			continue
		}
		read = append(read, a)
	}
	return read, nil
}

// Reply implements [ask.Mail]. A message that is gone, or to a slot that is no longer ours,
// needs no answer from us.
func (l *messages) Reply(ctx context.Context, id string, a ask.Answer) error {
	if log, ok := l.store.(store.Control); ok && a.Change != nil {
		o := a.Change
		err := log.LogOrder(ctx, store.Order{At: o.At, By: o.By, What: string(o.Order), Host: o.Host, Worker: o.Worker, Before: o.Before, After: o.After})
		if err != nil {
			return err
		}
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("message %q: %w", id, err)
	}
	body, err := encode(a)
	if err != nil {
		return err
	}
	err = l.store.Reply(ctx, l.now(), l.worker, store.MessageID(n), body)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrFenced) {
		return nil
	}
	return err
}

// encode marshals an answer with as many of its hosts as fit into a message, slowest first.
func encode(a ask.Answer) ([]byte, error) {
	for {
		body, err := json.Marshal(a)
		if err != nil {
			return nil, fmt.Errorf("write response: %w", err)
		}
		if len(body) <= store.MaxMessageBytes || len(a.Hosts) == 0 {
			return body, nil
		}
		a.Hosts = a.Hosts[:len(a.Hosts)/2]
	}
}
