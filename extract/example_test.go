package extract_test

import (
	"fmt"

	"headway/extract"
	"headway/weburl"
)

// Rules are read from YAML; an invalid file is refused with its line.
func Example() {
	rules, err := extract.Read("rules.yaml", []byte(`
name: {css: h1}
price: {css: .price, regex: '[0-9.]+', type: float, when: /products/**}
tags: {xpath: '//li', all: true}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := weburl.Parse("https://shop.example/products/7")
	if err != nil {
		fmt.Println(err)
		return
	}
	page := extract.Page{URL: u, Base: u, HTML: []byte(`<h1>Desk lamp</h1><p class=price>EUR 49.90<ul><li>brass<li>desk</ul>`)}
	fmt.Println(extract.JSON(rules.Extract(page)))

	_, err = extract.Read("rules.yaml", []byte("name: {css: h1}\nprice: {css: .price, type: money}\n"))
	fmt.Println(err)
	// Output:
	// {"name":"Desk lamp","price":49.9,"tags":["brass","desk"]}
	// rules.yaml:2: field "price": unknown type "money"
}
