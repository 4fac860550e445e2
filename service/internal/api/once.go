package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"time"

	"headway/store"
)

// Creating is a request that creates something and can be repeated.
type Creating[R any] struct {
	Key  string `header:"Idempotency-Key" maxLength:"255" pattern:"^[!-~]*$" doc:"A unique text of your choice for each object you create, such as a UUID. For one day, repeating the same request with the same key creates nothing new and returns the same response."`
	Body R
}

// submitter is a request that can be repeated.
type submitter interface {
	submitted() (key string, asked any)
}

// submitted identifies a repeated request: by its key and its content.
func (c *Creating[R]) submitted() (key string, asked any) { return c.Key, &c.Body }

// Created is the response to a request that created something.
type Created[B located] struct {
	Location string `header:"Location" doc:"Path of the created object."`
	Replayed string `header:"Idempotency-Replayed" doc:"true if an earlier request with the same key created the object."`
	Body     B
}

// located is an object with its own path.
type located interface{ location() string }

// withSecret is an object that holds a secret, which is not stored with the response
// to a request: it is looked up again for a repeated request.
type withSecret interface {
	hide() any
	reveal(ctx context.Context, a *API) error
}

// once adds an idempotency key to an operation that creates something. The name
// of the operation is stored with the key. What the operation changes in the
// store is committed with its response, so it must not read what it has just written.
func once[I any, B located, P interface {
	*I
	submitter
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
		out.Location = out.Body.location()
		return out, nil
	}
}

// replay returns an earlier response.
func (c *Created[B]) replay(ctx context.Context, a *API, text []byte) error {
	c.Replayed = "true"
	if err := json.Unmarshal(text, &c.Body); err != nil {
		return err
	}
	if s, ok := any(&c.Body).(withSecret); ok {
		return s.reveal(ctx, a)
	}
	return nil
}

// submit does something unless its key was used before.
func (a *API) submit(ctx context.Context, replay func(context.Context, *API, []byte) error, name, key string, asked any, do func(context.Context) (any, error)) error {
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	text = append([]byte(name+"\n"), text...)
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
		return newProblem(IdempotencyKeyReused, "the Idempotency-Key was already used with a different request")
	}
	if err != nil || !repeated {
		return err
	}
	return replay(ctx, a, text)
}
