// Command talos-oracle lets tests ask the Talos library itself: one JSON object per line in, one
// per line out, in the same order. Nothing here decides anything; it calls the library.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// operation answers one request, or says in the library's own words why it cannot.
type operation func(request json.RawMessage) (any, error)

var operations = map[string]operation{
	"validate":            as(validate),
	"normalize":           as(normalize),
	"patch":               as(patch),
	"generate":            as(generateConfigs),
	"new-bundle":          as(newBundle),
	"load-bundle":         as(loadBundle),
	"bundle-from-config":  as(bundleFromConfig),
	"resource":            as(randomResource),
	"machine-config":      as(machineConfig),
	"message":             as(randomMessage),
	"message-definitions": as(messageDefinitions),
	"shape":               as(documentShape),
}

// as reads the request's fields into what the operation wants.
func as[T any](answer func(T) (any, error)) operation {
	return func(raw json.RawMessage) (any, error) {
		var request T

		if err := json.Unmarshal(raw, &request); err != nil {
			return nil, fmt.Errorf("bad request: %w", err)
		}

		return answer(request)
	}
}

type reply struct {
	OK    any    `json:"ok,omitempty"`
	Error string `json:"error,omitempty"`
	// Panic: the library broke down instead of refusing. Tests treat that as no answer at all.
	Panic string `json:"panic,omitempty"`
}

func answer(line []byte) (result reply) {
	defer func() {
		if broken := recover(); broken != nil {
			result = reply{Panic: fmt.Sprint(broken)}
		}
	}()

	var request struct {
		Op string `json:"op"`
	}

	if err := json.Unmarshal(line, &request); err != nil {
		return reply{Panic: err.Error()}
	}

	run, ok := operations[request.Op]
	if !ok {
		return reply{Panic: fmt.Sprintf("no operation %q", request.Op)}
	}

	got, err := run(line)
	if err != nil {
		return reply{Error: err.Error()}
	}

	return reply{OK: got}
}

func main() {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)

	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the test session is over
			return
		}

		if err = encoder.Encode(answer(line)); err != nil {
			if err = encoder.Encode(reply{Panic: err.Error()}); err != nil {
				return
			}
		}

		if out.Flush() != nil {
			return
		}
	}
}
