package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

// contactEnv names the contact for machines without a person.
const contactEnv = "HEADWAY_CONTACT"

// maxContact bounds a contact; it stands in every request.
const maxContact = 200

// findContact returns who to name as the contact: from the flag, the
// environment, or what was saved. "" is no contact: public hosts are then not
// asked.
func findContact(flag string) (string, error) {
	for _, from := range []string{flag, os.Getenv(contactEnv)} {
		if from != "" {
			return from, checkContact(from)
		}
	}
	file, err := contactFile()
	if err != nil {
		return "", nil //nolint:nilerr // no home, so nothing was saved
	}
	saved, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", failed(fmt.Errorf("read saved contact: %w", err), "set a contact with --contact")
	}
	contact := strings.TrimSpace(string(saved))
	return contact, checkContact(contact)
}

// askContact asks the person at the terminal and remembers the answer. An
// interrupt ends the question, though nobody has answered.
func askContact(ctx context.Context, stdin io.Reader, stderr io.Writer) (string, error) {
	fmt.Fprint(stderr, "Every request carries a contact, so that site owners can reach you.\nYour email address or web page (leave empty to crawl only hosts you own): ")
	var line string
	var err error
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		line, err = bufio.NewReader(io.LimitReader(stdin, maxContact+1)).ReadString('\n')
	}()
	select {
	case <-answered:
	case <-ctx.Done():
		fmt.Fprintln(stderr) // the cursor stands behind the question
		return "", interrupted()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", failed(fmt.Errorf("read contact: %w", err), "set a contact with --contact")
	}
	contact := strings.TrimSpace(line)
	if contact == "" {
		return "", nil
	}
	if err := checkContact(contact); err != nil {
		return "", err
	}
	file, err := contactFile()
	if err != nil {
		return contact, nil //nolint:nilerr // no home: used now, asked again next time
	}
	if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = os.WriteFile(file, []byte(contact+"\n"), 0o644)
	}
	if err != nil {
		return "", failed(fmt.Errorf("save contact: %w", err), "set a contact with --contact")
	}
	fmt.Fprintf(stderr, "Saved in %s.\n", file)
	return contact, nil
}

// checkContact wants something a webmaster could use.
func checkContact(contact string) error {
	const hint = "use an email address or a web page URL, for example you@example.com"
	if len(contact) > maxContact || contact != oneLine(contact) || strings.ContainsAny(contact, " ()<>") {
		return usage(fmt.Errorf("invalid contact %q: spaces, brackets and control characters are not allowed", contact), hint)
	}
	if !strings.Contains(contact, "@") && !strings.HasPrefix(contact, "https://") && !strings.HasPrefix(contact, "http://") {
		return usage(fmt.Errorf("invalid contact %q: not an email address or a web page URL", contact), hint)
	}
	return nil
}

// contactFile is where the contact is saved.
func contactFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "headway", "contact"), nil
}

// isTerminal tells a person from a pipe or a file.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// contact finds who to name, and asks the person at the terminal once. Without
// one only owned hosts are crawled, and a seed that is none is refused here
// rather than by every request.
func (c *crawlRun) contact(ctx context.Context) (string, error) {
	contact, err := findContact(c.set.Contact)
	if err != nil || contact != "" {
		return contact, err
	}
	if err := c.checkAllowed(); err != nil {
		return "", err
	}
	if c.allPrivate(ctx) {
		return "", nil
	}
	if isTerminal(c.in) {
		if contact, err = askContact(ctx, c.in, c.err); err != nil || contact != "" {
			return contact, err
		}
	}
	return "", usage(errors.New("--contact is required for public sites"),
		"give an email address or URL where site owners can reach you: --contact you@example.com, or set "+contactEnv)
}
