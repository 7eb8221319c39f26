package login

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
)

// failed returns the error of an operation, or nil if err is nil.
func failed(op string, host svchost.Hostname, err error) error {
	if err == nil {
		return nil
	}
	return &failure.Error{Op: op, Subject: host.Display(), Err: err}
}

// An UnsupportedError means that the host does not support a login with this package: it does
// not have the service login.v1, or not the grant type authz_code. The user must create a
// token on a page of the host.
type UnsupportedError struct {
	Host svchost.Hostname // the host of the login
	// GrantTypes are the grant types of the host, without control characters.
	GrantTypes []string
	// TokensURL is the page on which users create tokens. It is known only for HCP
	// Terraform and Terraform Enterprise, and empty for other hosts.
	TokensURL string
	// Err wraps [disco.ErrNoService] or [disco.ErrServiceVersion], or is nil if the host
	// has other grant types.
	Err error
}

// Error returns the cause and the remedy.
func (e *UnsupportedError) Error() string {
	var b strings.Builder
	if e.Err != nil {
		b.WriteString(e.Err.Error())
	} else {
		fmt.Fprintf(&b, "%s does not support the grant type authz_code, only %q", e.Host.Display(), e.GrantTypes)
	}
	b.WriteString("; create an API token on a page of the host")
	if e.TokensURL != "" {
		b.WriteString(" (" + e.TokensURL + ")")
	}
	b.WriteString(" and store it")
	return b.String()
}

// Unwrap returns Err.
func (e *UnsupportedError) Unwrap() error { return e.Err }

// A RefusedError means that the user or the identity server refused the login. Its texts come
// from the server, without control characters and secrets.
type RefusedError struct {
	// Code is an error code of RFC 6749 sections 4.1.2.1 and 5.2, for example
	// "access_denied" if the user refused.
	Code string
	// Description is a text for people, or "".
	Description string
}

// Error returns the code and the description.
func (e *RefusedError) Error() string {
	text := "refused by the identity server: " + e.Code
	if e.Description != "" {
		text += " (\"" + e.Description + "\")"
	}
	return text
}

// A PortError means that Login cannot listen at any port that the host permits.
type PortError struct {
	Min, Max int   // the ports that the host permits
	Err      error // the error of the last port
}

// Error returns the ports and the cause.
func (e *PortError) Error() string {
	return fmt.Sprintf("no free port from %d to %d for the redirect of the browser: %v", e.Min, e.Max, e.Err)
}

// Unwrap returns the cause.
func (e *PortError) Unwrap() error { return e.Err }
