package jobspec

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"headway/weburl"
)

// Seeds is where a crawl begins.
type Seeds struct {
	URLs []weburl.URL
	// Fallback has the http form of seeds that were written without a scheme,
	// by the host of their https form.
	Fallback map[string]weburl.URL
}

// ReadSeeds reads seeds as they were written; there must be one.
func ReadSeeds(list []string) (Seeds, error) {
	var s Seeds
	for _, raw := range list {
		if err := s.Add(raw); err != nil {
			return Seeds{}, err
		}
	}
	if len(s.URLs) == 0 {
		return Seeds{}, &Error{errors.New("no seed given"), "give a seed, for example https://example.com"}
	}
	return s, nil
}

// Add reads one seed. A bare example.com means https, then http.
func (s *Seeds) Add(raw string) error {
	u, err := SeedURL(raw)
	if err != nil {
		return err
	}
	if u.Scheme() == "https" && !strings.Contains(raw, "://") {
		plain, err := weburl.Parse("http://" + strings.TrimPrefix(u.String(), "https://"))
		if err == nil {
			if s.Fallback == nil {
				s.Fallback = map[string]weburl.URL{}
			}
			s.Fallback[u.Host()] = plain
		}
	}
	s.URLs = append(s.URLs, u)
	return nil
}

// SeedURL reads a URL that a person typed: example.com means https. Errors are
// *[Error].
func SeedURL(raw string) (weburl.URL, error) {
	u, err := weburl.Parse(raw)
	bad, ok := errors.AsType[*weburl.Error](err)
	if ok && (bad.Code == weburl.NoBase || bad.Code == weburl.BadScheme) && !strings.Contains(raw, "@") && !strings.Contains(raw, "://") {
		if bare, err := weburl.Parse("https://" + raw); err == nil && strings.Contains(bare.Hostname(), ".") {
			return bare, nil
		}
	}
	if err != nil {
		return weburl.URL{}, &Error{err, "give a full URL, for example https://example.com/"}
	}
	if parsed, err := url.Parse(raw); err == nil && parsed.User != nil {
		return weburl.URL{}, &Error{fmt.Errorf("the URL of %s contains credentials, which are not allowed in a seed", u.Host()), "remove them from the URL; use --basic-auth for a host you own"}
	}
	return u, nil
}
