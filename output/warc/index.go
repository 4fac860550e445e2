package warc

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/internal/atomicfile"
)

const (
	indexSuffix = ".cdxj"
	// maxIndex is how many bytes of index a file has at most: it is sorted in
	// memory. Only a file of very many small answers ends because of it.
	maxIndex = 32 << 20
)

// indexLine is what the index says of a record. The names are those that readers of
// CDXJ know; numbers are strings there.
type indexLine struct {
	URL      string `json:"url"`
	Media    string `json:"mime,omitempty"`
	Status   string `json:"status,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Length   string `json:"length"`
	Offset   string `json:"offset"`
	Filename string `json:"filename"`
}

// capture is a response or revisit record in a file.
type capture struct {
	url            string
	at             time.Time
	media          string
	status         int
	payload        string // its digest
	offset, length int64
}

// line writes the index line of a capture.
func (c *capture) line(file string) (string, error) {
	_, sum, _ := strings.Cut(c.payload, ":") // without the algorithm, as other indexers have it
	l := indexLine{
		URL: c.url, Media: c.media, Digest: sum,
		Length: strconv.FormatInt(c.length, 10), Offset: strconv.FormatInt(c.offset, 10), Filename: file,
	}
	if c.status > 0 {
		l.Status = strconv.Itoa(c.status)
	}
	var text strings.Builder
	text.WriteString(surt(c.url))
	text.WriteString(c.at.UTC().Format(" 20060102150405 "))
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(l); err != nil { // ends the line, too
		return "", err
	}
	return text.String(), nil
}

// surt is the key by which archives find a URL: the parts of the host from the
// right, without www and in lower case, then path and sorted query.
func surt(u string) string {
	rest := strings.ToLower(u)
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	host, port := splitPort(host)
	host = withoutWWW(host)
	if !strings.HasPrefix(host, "[") {
		labels := strings.Split(host, ".")
		slices.Reverse(labels)
		host = strings.Join(labels, ",")
	}
	if port != "" {
		host += ":" + port
	}
	path, query, ok := strings.Cut(path, "?")
	if ok && query != "" {
		pairs := strings.Split(query, "&")
		slices.Sort(pairs)
		path += "?" + strings.Join(pairs, "&")
	}
	// Only a URL that is none could have one, and lines are split at it.
	return strings.ReplaceAll(oneLine(host+")"+path), " ", "%20")
}

// splitPort cuts the port off a host.
func splitPort(host string) (name, port string) {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") {
		return host, ""
	}
	return host[:i], host[i+1:]
}

// withoutWWW takes www., www2. and so on away.
func withoutWWW(host string) string {
	rest, ok := strings.CutPrefix(host, "www")
	if !ok {
		return host
	}
	if rest, ok = strings.CutPrefix(strings.TrimLeft(rest, "0123456789"), "."); ok && rest != "" {
		return rest
	}
	return host
}

// writeIndex writes the lines in order. The file appears whole.
func writeIndex(path string, lines []string) error {
	slices.Sort(lines)
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := f.WriteString(l); err != nil {
			return err
		}
	}
	return f.Publish()
}
