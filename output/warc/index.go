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
	// maxIndex limits the index of a file in bytes: it is sorted in memory. Only a file
	// with very many small responses ends because of it.
	maxIndex = 32 << 20
)

// indexLine is the JSON of an index line, with the usual CDXJ names; numbers are strings
// there.
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
	_, sum, _ := strings.Cut(c.payload, ":") // without the algorithm, as other indexers write it
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
	if err := e.Encode(l); err != nil { // also ends the line
		return "", err
	}
	return text.String(), nil
}

// surt is the sort key of a URL in archives: the reversed host without www and in lower case,
// then path and sorted query.
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
	// Only an invalid URL contains a space, at which lines are split.
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

// withoutWWW removes www., www2. and so on.
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

// writeIndex writes the sorted lines. The file appears atomically.
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
