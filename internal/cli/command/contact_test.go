package command

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestFoundContact: the flag before the environment before what was saved.
func TestFoundContact(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv(ContactEnv, "")
	want := func(flag, want string) {
		t.Helper()
		if got, err := FindContact(flag); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	want("", "")
	var said strings.Builder
	if got, err := AskContact(t.Context(), strings.NewReader("saved@example.com\n"), &said); err != nil || got != "saved@example.com" {
		t.Fatal(got, err)
	}
	if !strings.Contains(said.String(), "Saved in "+home) {
		t.Error(said.String())
	}
	want("", "saved@example.com")
	t.Setenv(ContactEnv, "env@example.com")
	want("", "env@example.com")
	want("flag@example.com", "flag@example.com")
	if _, err := AskContact(t.Context(), strings.NewReader("nobody\n"), &said); err == nil {
		t.Error("a contact that reaches nobody was saved")
	}
}

// TestAskContactInterrupted wants an interrupt to end the question.
func TestAskContactInterrupted(t *testing.T) {
	silent, end := io.Pipe() // a person who says nothing
	defer end.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := AskContact(ctx, silent, io.Discard)
	if failure, ok := errors.AsType[*Failure](err); !ok || failure.Code != ExitInterrupted {
		t.Errorf("askContact: %v, want exit code %d", err, ExitInterrupted)
	}
}
