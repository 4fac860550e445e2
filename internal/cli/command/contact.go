package command

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

// ContactEnv is the environment variable for the contact.
const ContactEnv = "HEADWAY_CONTACT"

// maxContact bounds a contact; it stands in every request.
const maxContact = 200

// FindContact returns the contact from the flag, the environment, or the saved
// one. Without one ("") no public host is crawled.
func FindContact(flag string) (string, error) {
	for _, from := range []string{flag, os.Getenv(ContactEnv)} {
		if from != "" {
			return from, CheckContact(from)
		}
	}
	file, err := ContactFile()
	if err != nil {
		return "", nil //nolint:nilerr // no home, so nothing was saved
	}
	saved, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", Failed(fmt.Errorf("read saved contact: %w", err), "set a contact with --contact")
	}
	contact := strings.TrimSpace(string(saved))
	return contact, CheckContact(contact)
}

// AskContact asks the person at the terminal and saves the answer. An interrupt
// ends the question.
func AskContact(ctx context.Context, stdin io.Reader, stderr io.Writer) (string, error) {
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
		return "", Interrupted()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", Failed(fmt.Errorf("read contact: %w", err), "set a contact with --contact")
	}
	contact := strings.TrimSpace(line)
	if contact == "" {
		return "", nil
	}
	if err := CheckContact(contact); err != nil {
		return "", err
	}
	file, err := ContactFile()
	if err != nil {
		return contact, nil //nolint:nilerr // no home: used now, asked again next time
	}
	if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = os.WriteFile(file, []byte(contact+"\n"), 0o644)
	}
	if err != nil {
		return "", Failed(fmt.Errorf("save contact: %w", err), "set a contact with --contact")
	}
	fmt.Fprintf(stderr, "Saved in %s.\n", file)
	return contact, nil
}

// CheckContact refuses a contact that is neither an email address nor a web page.
func CheckContact(contact string) error {
	const hint = "use an email address or a web page URL, for example you@example.com"
	if len(contact) > maxContact || contact != OneLine(contact) || strings.ContainsAny(contact, " ()<>") {
		return Usage(fmt.Errorf("invalid contact %q: spaces, brackets and control characters are not allowed", contact), hint)
	}
	if !strings.Contains(contact, "@") && !strings.HasPrefix(contact, "https://") && !strings.HasPrefix(contact, "http://") {
		return Usage(fmt.Errorf("invalid contact %q: not an email address or a web page URL", contact), hint)
	}
	return nil
}

// ContactFile is where the contact is saved.
func ContactFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "headway", "contact"), nil
}

// IsTerminal tells a terminal from a pipe or a file.
func IsTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
