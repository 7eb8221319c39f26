package module_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tofureg/tofureg/module"
)

func TestParseMeta(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<meta name="terraform-get" content="https://example.com/x.zip">`:                                            "https://example.com/x.zip",
		`<META Content='x' NAME=Terraform-Get />`:                                                                    "x",
		`<!DOCTYPE html><html><head><title>a</title><meta name=terraform-get content=x></head>`:                      "x",
		`<meta name="terraform-get" content="a?b=1&amp;c=2">`:                                                        "a?b=1&c=2",
		"<meta\n\tname = \"terraform-get\"\r\n content = ' x ' >":                                                    "x",
		`<meta charset=utf-8><meta name="other" content="y"><meta name="terraform-get" content=x>`:                   "x",
		`<meta name="terraform-get" content=""><meta name="terraform-get" content="x">`:                              "x",
		`<meta name="terraform-get" content="x"><meta name="terraform-get" content="y">`:                             "x",
		`<meta name="terraform-get" name="other" content="x" content="y">`:                                           "x",
		`<?xml version="1.0"?><!-- > --><meta name="terraform-get" content="x"/>`:                                    "x",
		`<script>if (a<b) "<meta name='terraform-get' content='y'>"</SCRIPT><meta name="terraform-get" content="x">`: "x",
		`<meta name="terraform-get" content="a>b">`:                                                                  "a>b",
		`a < b <1> </> <meta name="terraform-get" content="x">`:                                                      "x",
		`<p =x><meta name="terraform-get" content="x">`:                                                              "x",
		// Not in the head, or not markup at all.
		`<head></head><meta name="terraform-get" content="x">`:         "",
		`<body><meta name="terraform-get" content="x">`:                "",
		`<!-- <meta name="terraform-get" content="x"> -->`:             "",
		`<!-- <meta name="terraform-get" content="x">`:                 "",
		`<title><meta name="terraform-get" content="x"></title>`:       "",
		`<style><meta name="terraform-get" content="x">`:               "",
		`<noscript><meta name="terraform-get" content="x"></noscript>`: "",
		`<meta name="terraform-get">`:                                  "",
		`<meta content="x">`:                                           "",
		`<meta name="terraform-get" content="x"`:                       "",
		`<metadata name="terraform-get" content="x">`:                  "",
		`<a href="<meta name='terraform-get' content='x'>">`:           "",
		`{"location": "x"}`:                                            "",
		``:                                                             "",
		`<`:                                                            "",
		`<meta name="terraform-get" content="`:                         "",
		strings.Repeat(" ", module.MaxPage) + `<meta name=terraform-get content="x">`:      "",
		strings.Repeat("<p>", module.MaxPage/3-20) + `<meta name=terraform-get content=x>`: "x",
	} {
		got, err := module.ParseMeta(strings.NewReader(page))
		if got != want || err != nil {
			t.Errorf("%.100q: %q, %v; want %q", page, got, err, want)
		}
	}
	broken := errors.New("broken")
	if _, err := module.ParseMeta(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	// No more is read than is looked at.
	if got, err := module.ParseMeta(zeros{}); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add(`<html><head><!-- x --><script>y</script><meta name="terraform-get" content='a&amp;b'></head>`)
	f.Add(`<?x?><meta =><title>`)
	f.Fuzz(func(t *testing.T, page string) {
		got, err := module.ParseMeta(strings.NewReader(page))
		if err != nil || got != strings.TrimSpace(got) {
			t.Errorf("%q, %v", got, err)
		}
		if got != "" && !strings.Contains(strings.ToLower(page), "meta") {
			t.Errorf("%q out of nothing", got)
		}
	})
}
