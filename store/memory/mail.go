package memory

import (
	"context"
	"slices"
	"time"

	"headway/store"
)

var _ store.Mail = (*Store)(nil)

// message is a message and its replies.
type message struct {
	store.Message
	replies []store.Reply
}

// Post implements [store.Mail].
func (s *Store) Post(ctx context.Context, now time.Time, l store.Message) (store.MessageID, error) {
	if err := l.Check(); err != nil {
		return 0, err
	}
	if err := s.begin(ctx, "post"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(old *message) bool { return old.At.Before(now.Add(-store.MessageTTL)) })
	if n := len(s.messages) - store.MaxMessages + 1; n > 0 {
		s.messages = slices.Delete(s.messages, 0, n)
	}
	s.lastMessage++
	l.ID, l.At, l.Body = s.lastMessage, store.Stored(now), slices.Clone(l.Body)
	s.messages = append(s.messages, &message{Message: l})
	return l.ID, nil
}

// Messages implements [store.Mail].
func (s *Store) Messages(ctx context.Context, now time.Time, w store.WorkerID) ([]store.Message, error) {
	if err := s.begin(ctx, "messages"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Message
	for _, l := range s.messages {
		answered := slices.ContainsFunc(l.replies, func(r store.Reply) bool { return !l.All || r.Worker == w })
		if len(list) < store.MaxMessageBatch && !answered && !l.At.Before(now.Add(-store.MessageTTL)) && (l.All || s.ledger.Slots[l.Slot].Owner == w) {
			list = append(list, l.Message)
		}
	}
	return list, nil
}

// find returns a message; nil if it does not exist.
func (s *Store) find(id store.MessageID) *message {
	for _, l := range s.messages {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// Reply implements [store.Mail].
func (s *Store) Reply(ctx context.Context, now time.Time, w store.WorkerID, id store.MessageID, body []byte) error {
	if err := store.CheckBody(body); err != nil {
		return err
	}
	if err := s.begin(ctx, "reply"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	l := s.find(id)
	switch {
	case l == nil:
		return store.ErrNotFound
	case !slices.ContainsFunc(s.ledger.Workers(), func(x store.Worker) bool { return x.ID == w }), !l.All && s.ledger.Slots[l.Slot].Owner != w:
		return store.ErrFenced
	case !slices.ContainsFunc(l.replies, func(r store.Reply) bool { return r.Worker == w }):
		l.replies = append(l.replies, store.Reply{Worker: w, At: store.Stored(now), Body: slices.Clone(body)})
	}
	return nil
}

// Replies implements [store.Mail].
func (s *Store) Replies(ctx context.Context, id store.MessageID) ([]store.Reply, error) {
	if err := s.begin(ctx, "replies"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	l := s.find(id)
	if l == nil {
		return nil, nil
	}
	list := slices.Clone(l.replies)
	slices.SortFunc(list, func(a, b store.Reply) int { return int(a.Worker - b.Worker) })
	return list, nil
}

// Withdraw implements [store.Mail].
func (s *Store) Withdraw(ctx context.Context, id store.MessageID) error {
	if err := s.begin(ctx, "withdraw"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(l *message) bool { return l.ID == id })
	return nil
}
