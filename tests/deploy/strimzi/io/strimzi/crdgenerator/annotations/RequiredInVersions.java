package io.strimzi.crdgenerator.annotations;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** What Strimzi's classes are annotated with; its own annotations are in no repository. */
@Retention(RetentionPolicy.RUNTIME)
public @interface RequiredInVersions {
    String value();
}
