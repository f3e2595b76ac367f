// SPDX-License-Identifier: Apache-2.0
/* A library of check_late_java.py: calls Late.called() when a JVM loads it. */
#include <jni.h>

jint JNI_OnLoad(JavaVM *vm, void *reserved)
{
	jmethodID method;
	JNIEnv *env;
	jclass late;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return -1;
	late = (*env)->FindClass(env, "Late");
	method = late ? (*env)->GetStaticMethodID(env, late, "called", "()V") : NULL;
	if (!method)
		return -1;
	(*env)->CallStaticVoidMethod(env, late, method);
	return JNI_VERSION_1_8;
}
