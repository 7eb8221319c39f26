package login

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A message is what a page says.
type message struct{ Title, Text string }

// page has no script and loads nothing.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>body { font-family: sans-serif; max-width: 36em; margin: 4em auto; padding: 0 1em; line-height: 1.5 }</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p>{{.Text}}</p>
</body>
</html>
`))

// show sends a page to the end, so that the connection may be closed after it.
func show(w http.ResponseWriter, status int, m message) {
	var body bytes.Buffer
	if err := page.Execute(&body, m); err != nil {
		status = http.StatusInternalServerError // cannot be: the template is fixed
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code in it
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodGet)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // whoever does not wait for the page does not read it
	_ = http.NewResponseController(w).Flush()
}

// refusal is the page for a request that is no answer to the login.
func refusal(status int) message {
	m := message{"This is not it", "A program is waiting here for the answer to a login, and this is not the one. It goes on waiting."}
	switch status {
	case http.StatusForbidden:
		m.Text = "This is the answer to another login than the one that a program is waiting for here. " +
			"Please use the link of that program again, and only the newest one."
	case http.StatusGone:
		m = message{"There has been an answer", "The login that a program was waiting for here has been answered already."}
	}
	return m
}

// outcome is the page at the end of the login.
func outcome(host svchost.Hostname, success bool) (status int, m message) {
	if success {
		return http.StatusOK, message{"Logged in", "The program has a token for " + host.Display() + " now. You can close this window."}
	}
	return http.StatusBadGateway, message{"Not logged in", "The login to " + host.Display() + " did not succeed. " +
		"The program that you started it from says why. You can close this window."}
}
