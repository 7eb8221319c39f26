package login

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"

	"github.com/tofureg/tofureg/disco/svchost"
)

// A message is the content of a page.
type message struct{ Title, Text string }

// page is a template without scripts and external resources.
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

// show sends a complete page, so that the connection can be closed afterwards.
func show(w http.ResponseWriter, status int, m message) {
	var body bytes.Buffer
	if err := page.Execute(&body, m); err != nil {
		status = http.StatusInternalServerError // never happens: the template is fixed
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the URL contains the code
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	if status == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodGet)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // fails if the browser has closed the connection
	_ = http.NewResponseController(w).Flush()
}

// refusal returns the page for a refused request.
func refusal(status int) message {
	m := message{"Unexpected request", "A program is waiting here for the result of a login. This request does not belong to it."}
	switch status {
	case http.StatusForbidden:
		m.Text = "This is the result of another login. Please open the newest link of the program that waits for your login."
	case http.StatusGone:
		m = message{"Already answered", "The program already has the result of this login."}
	}
	return m
}

// outcome returns the status and the page for the end of the login.
func outcome(host svchost.Hostname, success bool) (status int, m message) {
	if success {
		return http.StatusOK, message{"Logged in", "The program now has a token for " + host.Display() + ". You can close this window."}
	}
	return http.StatusBadGateway, message{"Not logged in", "The login to " + host.Display() + " failed. The program shows the reason. You can close this window."}
}
