package content

import "testing"

func TestFacts(t *testing.T) {
	tests := []struct {
		name, html string
		want       Page
	}{
		{"none", "<p>x", Page{}},
		{"elements", `<html lang=en-GB><title> A &amp; B
 C</title><meta name=author content="Ann  B."><meta property="article:published_time" content="2024-01-02T03:04:05Z">`, Page{Title: "A & B C", Language: "en-GB", Author: "Ann B.", Published: "2024-01-02T03:04:05Z"}},
		{"meta", `<meta property="og:title" content=T><meta http-equiv=Content-Language content=de><meta name="DC.creator" content=C><meta itemprop=datePublished content=2024-05-06>`, Page{Title: "T", Language: "de", Author: "C", Published: "2024-05-06"}},
		{"locale", `<meta property="og:locale" content=pt_BR>`, Page{Language: "pt-BR"}},
		{"profile", `<meta property="article:author" content="https://social.test/ann">`, Page{}},
		{"json-ld", `<script type="application/ld+json">{"@type":"NewsArticle","headline":"\"author\": x","datePublished":"2024-01-02","author":[{"@type":"Person","name":"A\u0301nn \"B\""}],"publisher":{"name":"P"}}</script>`, Page{Author: "A\u0301nn \"B\"", Published: "2024-01-02"}},
		{"json-ld text", `<script type="application/ld+json">{"author": "Ann", "publisher":{"name":"P"}</script>`, Page{Author: "Ann"}},
		{"json-ld cut", `<script type="application/ld+json">{"author": {"name": "An</script>`, Page{}},
		{"other script", `<script>{"author": "Ann"}</script>`, Page{}},
		{"time", `<p><time datetime="2024-07-08">8 July</time> <time datetime="2024-09-09">later</time>`, Page{Published: "2024-07-08"}},
		{"meta over time", `<p><time datetime="2024-07-08">8 July</time><meta name=date content=2023-01-01>`, Page{Published: "2023-01-01"}},
		{"svg title", `<svg><title>Icon</title></svg><title>Page</title>`, Page{Title: "Page"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Extract([]byte(test.html), pageURL, Options{})
			got.Words, got.Digest = 0, test.want.Digest
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}
