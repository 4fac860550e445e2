package memory

import (
	"context"
	"slices"
	"time"

	"headway/store"
)

var _ store.Mail = (*Store)(nil)

// letter is a letter and its answers.
type letter struct {
	store.Letter
	replies []store.Reply
}

// Post implements [store.Mail].
func (s *Store) Post(ctx context.Context, now time.Time, l store.Letter) (store.LetterID, error) {
	if err := l.Check(); err != nil {
		return 0, err
	}
	if err := s.begin(ctx, "post"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	s.letters = slices.DeleteFunc(s.letters, func(old *letter) bool { return old.At.Before(now.Add(-store.LetterLife)) })
	if n := len(s.letters) - store.MaxLetters + 1; n > 0 {
		s.letters = slices.Delete(s.letters, 0, n)
	}
	s.lastLetter++
	l.ID, l.At, l.Body = s.lastLetter, store.Stored(now), slices.Clone(l.Body)
	s.letters = append(s.letters, &letter{Letter: l})
	return l.ID, nil
}

// Letters implements [store.Mail].
func (s *Store) Letters(ctx context.Context, now time.Time, w store.WorkerID) ([]store.Letter, error) {
	if err := s.begin(ctx, "letters"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.Letter
	for _, l := range s.letters {
		answered := slices.ContainsFunc(l.replies, func(r store.Reply) bool { return !l.All || r.Worker == w })
		if len(list) < store.MaxMail && !answered && !l.At.Before(now.Add(-store.LetterLife)) && (l.All || s.ledger.Slots[l.Slot].Owner == w) {
			list = append(list, l.Letter)
		}
	}
	return list, nil
}

// find returns a letter, nil if it is gone.
func (s *Store) find(id store.LetterID) *letter {
	for _, l := range s.letters {
		if l.ID == id {
			return l
		}
	}
	return nil
}

// Reply implements [store.Mail].
func (s *Store) Reply(ctx context.Context, now time.Time, w store.WorkerID, id store.LetterID, body []byte) error {
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
func (s *Store) Replies(ctx context.Context, id store.LetterID) ([]store.Reply, error) {
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
func (s *Store) Withdraw(ctx context.Context, id store.LetterID) error {
	if err := s.begin(ctx, "withdraw"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.letters = slices.DeleteFunc(s.letters, func(l *letter) bool { return l.ID == id })
	return nil
}
