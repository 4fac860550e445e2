package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/config"
)

// NewClient makes the network client of a command that has the flags of
// [config.RegisterNetwork], and prints its warnings. A contact, if there is one,
// overrides the settings.
func NewClient(flags *pflag.FlagSet, contact string, stderr io.Writer) (*fetch.Client, error) {
	s, _, err := config.Load(flags, os.Environ())
	if err != nil {
		return nil, Usage(err, HintOf(err))
	}
	dialer, _, err := NewDialer(guard.Config{Resolver: s.Resolver, IP: guard.Family(s.IP), ExtraPorts: s.Ports}, s.AllowPrivate)
	if err != nil {
		return nil, err
	}
	contact, err = FindContact(cmp.Or(contact, s.Contact))
	if err != nil {
		return nil, err
	}
	client, err := fetch.New(fetch.Config{
		Dialer:   dialer,
		Identity: fetch.Identity{Product: Product, Version: Version(), Contact: contact},
	})
	if err != nil {
		return nil, Usage(err, "")
	}
	WarnAddresses(stderr, s.AllowPrivate)
	return client, nil
}

// NewDialer makes the dialler, which may also connect to the private ranges given.
func NewDialer(cfg guard.Config, private []string) (*guard.Dialer, []guard.Range, error) {
	var err error
	if cfg.AllowPrivate, err = ParseRanges("--allow-private", private); err != nil {
		return nil, nil, err
	}
	dialer, err := guard.New(cfg)
	if err != nil {
		return nil, nil, Usage(err, "--resolver takes IP:PORT, for example 127.0.0.1:53; --ip takes auto, 4 or 6")
	}
	return dialer, cfg.AllowPrivate, nil
}

// ParseRanges reads the values of a flag that allows private addresses.
func ParseRanges(flag string, texts []string) (list []guard.Range, err error) {
	for _, text := range texts {
		r, err := guard.ParseRange(text)
		if err != nil {
			return nil, Usage(fmt.Errorf("%s: %w", flag, err), "give a range inside a private block, for example 127.0.0.0/8:8780 or 10.0.0.0/8; list link-local and cloud metadata addresses one by one")
		}
		list = append(list, r)
	}
	return list, nil
}

// WarnAddresses warns about allowed private addresses and about proxy settings, which
// are ignored.
func WarnAddresses(w io.Writer, private []string) {
	if len(private) > 0 {
		fmt.Fprintf(w, "headway: warning: private addresses allowed: %s\n", OneLine(strings.Join(private, " ")))
	}
	if warning := guard.ProxyWarning(os.Getenv); warning != "" {
		fmt.Fprintf(w, "headway: warning: %s\n", OneLine(warning))
	}
}
