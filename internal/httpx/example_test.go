package httpx_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/tofureg/tofureg/internal/fault"
	"github.com/tofureg/tofureg/internal/httpx"
)

func ExampleClient_Get() {
	registry := serve(status(http.StatusOK, `{"versions":[{"version":"1.0.0"}]}`), status(http.StatusNotFound, `{"errors":["no such provider"]}`))
	c := &httpx.Client{HTTP: &http.Client{Transport: registry}}
	u := &url.URL{Scheme: "https", Host: "registry.example.com", Path: "/v1/providers/acme/cloud/versions"}

	resp, err := c.Get(context.Background(), httpx.Request{URL: u, Accept: "application/json", Limit: 16 << 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	var doc struct{ Versions []struct{ Version string } }
	fmt.Println(resp.DecodeJSON(&doc), doc.Versions)

	_, err = c.Get(context.Background(), httpx.Request{URL: u, Limit: 16 << 20})
	fmt.Println(err)
	fmt.Println(errors.Is(err, fault.ErrNotFound))
	// Output:
	// <nil> [{1.0.0}]
	// https://registry.example.com/v1/providers/acme/cloud/versions: HTTP status 404: not found, the server says "no such provider"
	// true
}

func ExampleClient_Open() {
	releases := serve((&file{data: []byte("the bytes of a package\n"), cuts: []int{9}, etag: `"v1"`}).handler)
	c := &httpx.Client{HTTP: &http.Client{Transport: releases}}
	u := &url.URL{Scheme: "https", Host: "releases.example.com", Path: "/package.zip"}

	body, err := c.Open(context.Background(), httpx.Request{URL: u})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	io.Copy(os.Stdout, body)
	fmt.Println(body.Size, "bytes; resumed:", body.Resumes())
	// Output:
	// the bytes of a package
	// 23 bytes; resumed: 1
}
