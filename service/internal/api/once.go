package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"headway/store"
)

// Creating is a request that creates something, and may be sent again.
type Creating[R any] struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" pattern:"^[!-~]*$" doc:"Any text of your own that is new for each thing you create, such as a UUID. For a day the same request with the same key creates nothing more and has the same answer."`
	Body R
}

// submitted is by what the request is known again: a key, and what was asked for.
func (c *Creating[R]) submitted() (key string, asked any) { return c.Key, &c.Body }

// Created is the answer to a request that created something.
type Created[B placed] struct {
	Location string `header:"Location" doc:"Where it is."`
	Replayed string `header:"Idempotency-Replayed" doc:"true where it was created by an earlier request with the same key."`
	Body     B
}

// placed is something that has a path of its own.
type placed interface{ place() string }

// secretive is something that holds a secret, which is not kept with the answer to
// a request: it is looked up for those who send the request again.
type secretive interface {
	hide() any
	reveal(ctx context.Context, a *API) error
}

// once makes an operation that creates something take a key by which a request is
// known again. The operation is named in what is remembered. What it changes in the
// store is kept with its answer, so it must not read what it has just written.
func once[I any, B placed, P interface {
	*I
	submitted() (key string, asked any)
}](a *API, name string, do func(context.Context, *I) (B, error)) func(context.Context, *I) (*Created[B], error) {
	return func(ctx context.Context, in *I) (*Created[B], error) {
		key, asked := P(in).submitted()
		out := new(Created[B])
		var err error
		if key == "" {
			err = a.store.Together(ctx, func(ctx context.Context) (err error) {
				out.Body, err = do(ctx, in)
				return err
			})
		} else {
			err = a.submit(ctx, out.replay, name, key, asked, func(ctx context.Context) (any, error) {
				var err error
				out.Body, err = do(ctx, in)
				return out.Body, err
			})
		}
		if err != nil {
			return nil, err
		}
		out.Location = out.Body.place()
		return out, nil
	}
}

// replay takes an answer that was given before.
func (c *Created[B]) replay(ctx context.Context, a *API, text []byte) error {
	c.Replayed = "true"
	if err := json.Unmarshal(text, &c.Body); err != nil {
		return err
	}
	if s, ok := any(&c.Body).(secretive); ok {
		return s.reveal(ctx, a)
	}
	return nil
}

// submit does something unless its key was sent before.
func (a *API) submit(ctx context.Context, replay func(context.Context, *API, []byte) error, name, key string, asked any, do func(context.Context) (any, error)) error {
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	if name != "" {
		text = append([]byte(name+"\n"), text...)
	}
	text, repeated, err := a.store.Once(ctx, time.Now(), callerOf(ctx).tenant(), store.Submission{Key: key, Sum: sha256.Sum256(text)}, func(ctx context.Context) ([]byte, error) {
		made, err := do(ctx)
		if err != nil {
			return nil, err
		}
		if s, ok := made.(interface{ hide() any }); ok {
			made = s.hide()
		}
		return json.Marshal(made)
	})
	if errors.Is(err, store.ErrConflict) {
		return problem(http.StatusConflict, "the Idempotency-Key was sent before with another request", "take a new key for each thing you create")
	}
	if err != nil || !repeated {
		return err
	}
	return replay(ctx, a, text)
}
