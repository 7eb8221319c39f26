// Package throttle limits the requests to each host: how many run at the same time, how many
// start per second, and when requests resume after a server was busy.
//
// All clients with these settings share the limits:
//
//	limits := &throttle.Transport{PerSecond: 20, Parallel: 8}
//	web := &transport.Client{HTTP: &http.Client{Transport: limits}}
//	registry := &regclient.Client{Transport: web}
//
// It is meant for servers that run many clients. Functions for many
// packages have a limit, Parallel; clients have none.
//
// Every request counts: redirects, retries and resumed downloads. Requests that
// [github.com/tofureg/tofureg/transport/doccache.Transport] answers do not count if this
// [Transport] is its Base.
package throttle
