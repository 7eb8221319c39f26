package login

import (
	"fmt"
	"strings"

	"github.com/tofureg/tofureg/disco/svchost"
	"github.com/tofureg/tofureg/failure"
)

// failed returns the error of an operation, nil if err is nil.
func failed(op string, host svchost.Hostname, err error) error {
	if err == nil {
		return nil
	}
	return &failure.Error{Op: op, Subject: host.Display(), Err: err}
}

// An UnsupportedError says that nobody can log in to the host with this package:
// the host does not declare the service login.v1, or it grants tokens in other ways
// only. The host was asked and has answered; if it is not known what a host offers,
// that is another error.
type UnsupportedError struct {
	Host svchost.Hostname // that was asked
	// GrantTypes are the ways in which the host grants tokens, made safe to print,
	// if it has the service.
	GrantTypes []string
	// TokensURL is the page of the host on which its users make tokens for
	// themselves. It is empty if that is not known: only hosts with the service
	// tfe.v2, which HCP Terraform and Terraform Enterprise are, all have it at the
	// same place.
	TokensURL string
	// Err is the cause if the host does not have the service: a
	// *disco.ServiceError that wraps disco.ErrNoService or disco.ErrServiceVersion.
	// Otherwise it is nil.
	Err error
}

// Error says what is missing, and what to do instead.
func (e *UnsupportedError) Error() string {
	var b strings.Builder
	if e.Err != nil {
		b.WriteString(e.Err.Error())
	} else {
		fmt.Fprintf(&b, "%s grants no tokens by way of a browser (authz_code), only by %q", e.Host.Display(), e.GrantTypes)
	}
	b.WriteString("; make an API token on the host's own pages")
	if e.TokensURL != "" {
		b.WriteString(", at " + e.TokensURL)
	}
	b.WriteString(", and store that")
	return b.String()
}

// Unwrap returns Err.
func (e *UnsupportedError) Unwrap() error { return e.Err }

// A RefusedError says that the user or the identity server did not agree. Both texts
// come from the server and are made safe to print.
type RefusedError struct {
	// Code is the reason for programs, such as "access_denied" if the user has
	// said no, see RFC 6749 sections 4.1.2.1 and 5.2.
	Code string
	// Description is the reason for people; it may be empty.
	Description string
}

// Error returns code and description.
func (e *RefusedError) Error() string {
	text := "the identity server refuses: " + e.Code
	if e.Description != "" {
		text += ", it says \"" + e.Description + "\""
	}
	return text
}

// A PortError says that there is no port on which to wait for the browser.
type PortError struct {
	Min, Max int   // the ports that the host permits
	Err      error // why the last one that was tried could not be had
}

// Error names the ports and the cause.
func (e *PortError) Error() string {
	return fmt.Sprintf("the browser would have to come back to one of the ports from %d to %d, and none is free: %v", e.Min, e.Max, e.Err)
}

// Unwrap returns the cause.
func (e *PortError) Unwrap() error { return e.Err }
