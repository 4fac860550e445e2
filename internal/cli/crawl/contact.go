package crawl

import (
	"context"
	"errors"

	"headway/internal/cli/command"
)

// contact finds the contact, or asks the person at the terminal once. Without a
// contact only owned hosts are crawled; other seeds are refused here rather than at
// every request.
func (c *Setup) contact(ctx context.Context) (string, error) {
	contact, err := command.FindContact(c.Settings.Contact)
	if err != nil || contact != "" {
		return contact, err
	}
	if err := c.checkAllowed(); err != nil {
		return "", err
	}
	if c.allPrivate(ctx) {
		return "", nil
	}
	if command.IsTerminal(c.in) {
		if contact, err = command.AskContact(ctx, c.in, c.Err); err != nil || contact != "" {
			return contact, err
		}
	}
	return "", command.Usage(errors.New("--contact is required for public sites"),
		"give an email address or URL where site owners can reach you: --contact you@example.com, or set "+command.ContactEnv)
}
