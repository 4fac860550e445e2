package weburl

import "testing"

func TestDomain(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"plain", "https://example.com/", "example.com"},
		{"subdomain", "https://www.shop.example.com/", "example.com"},
		{"two-label suffix", "https://www.example.co.uk/", "example.co.uk"},
		{"private suffix", "https://alice.github.io/", "alice.github.io"},
		{"below a private suffix", "https://x.alice.github.io/", "alice.github.io"},
		{"private suffix itself", "https://github.io/", "github.io"},
		{"top-level domain itself", "https://com/", "com"},
		{"two-label suffix itself", "https://co.uk/", "co.uk"},
		{"wildcard suffix", "https://a.b.c.kawasaki.jp/", "b.c.kawasaki.jp"},
		{"wildcard suffix itself", "https://c.kawasaki.jp/", "c.kawasaki.jp"},
		{"exception to a wildcard", "https://www.city.kawasaki.jp/", "city.kawasaki.jp"},
		{"unlisted suffix", "https://a.b.test/", "b.test"},
		{"single label", "http://localhost:8080/", "localhost"},
		{"international suffix", "https://www.食狮.公司.cn/", "xn--85x722f.xn--55qx5d.cn"},
		{"root dot", "https://www.example.com./", "example.com"},
		{"IPv4", "http://127.0.0.1:80/", "127.0.0.1"},
		{"IPv6", "http://[2606:4700::1111]:8080/", "2606:4700::1111"},
		{"digits in the last label", "http://a.b.1a/", "b.1a"},
		{"port makes no difference", "http://www.example.com:8080/", "example.com"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mustParse(t, tt.raw).Domain(); got != tt.want {
				t.Errorf("Domain of %s = %q, want %q", tt.raw, got, tt.want)
			}
		})
	}
}
